/**
 * Console: sessions of people who sign in to the web console, one-time links, codes for the command line, sign-in through an
 * OpenID provider, and the files of the console. Owns `console_sessions`, `console_links`, `console_codes` and `provider_sign_ins`. A session is a cookie instead of a token: the guard gives its requests to the same routes, limits and audit
 * log as the API (kernel/http/access/session-requests.ts).
 */

import type { Scope } from '../../contract/scopes.ts';
import type { Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db, Queryable, Tx } from '../../kernel/data/db.ts';
import type { LedgerListener } from '../../kernel/domain-event.ts';
import type { SessionDeps } from '../../kernel/http/access/session-requests.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Log } from '../../kernel/observability/log.ts';
import type { Role } from '../../kernel/policy.ts';
import type { OpenIdProvider } from '../../kernel/ports/openid-provider.ts';
import type { RecordRefusal } from '../../kernel/refusals.ts';
import { createCodeService } from './codes/service.ts';
import { createLinkService } from './links/service.ts';
import { createProviderPurgeLoop } from './oidc/loops.ts';
import { providerSignInRoutes } from './oidc/routes.ts';
import { createProviderSignIn, type InvitedPeople } from './oidc/service.ts';
import { consoleRoutes } from './routes.ts';
import type { Link } from './schema.ts';
import { createSessionCookie } from './sessions/cookie.ts';
import { createSessionsListener } from './sessions/listener.ts';
import { createPurgeLoop } from './sessions/loops.ts';
import { createSessionService, type Sessions } from './sessions/service.ts';
import { createSignIn } from './sessions/sign-in.ts';
import { type ConsoleFiles, createPages } from './static/pages.ts';
import { pageRoutes } from './static/routes.ts';

/** The agent that signs in. */
export interface SignInEligibility {
  readonly organizationId: string;
  readonly organizationStatus: 'active' | 'suspended' | 'deleted';
  /** Why the agent can get no token, and so no session. */
  readonly problem?: string;
  readonly scopes: readonly Scope[];
}

export interface ConsoleSettings {
  /** The public address. It decides whether the cookie is `Secure`. */
  readonly baseUrl: string;
  readonly multiTenant: boolean;
  /** Not a production instance. */
  readonly dev: boolean;
}

export interface ConsoleDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  readonly recordRefusal: RecordRefusal;
  readonly settings: ConsoleSettings;
  readonly files: ConsoleFiles;
  /** The credential with which the agent can authenticate now by this secret. */
  findCredential(db: Queryable, agentId: string, clientSecret: string): Promise<string | undefined>;
  /** A client has authenticated with this credential. */
  recordUse(credentialId: string): void;
  /** Undefined when the agent does not exist. */
  findEligibility(db: Queryable, agentId: string): Promise<SignInEligibility | undefined>;
  /** The same; it does not change until the transaction ends. */
  lockEligibility(tx: Tx, agentId: string): Promise<SignInEligibility | undefined>;
  roleOf(caller: Caller): Promise<Role>;
  readonly log: Log;
  /** The OpenID provider; undefined when none is configured. */
  readonly provider: OpenIdProvider | undefined;
  readonly people: InvitedPeople;
}

export interface Console extends Pick<SessionDeps, 'authenticateSession' | 'explainNoSession'> {
  readonly routes: readonly RouteEntry[];
  readonly loops: readonly Loop[];
  readonly sessions: Sessions;
  /** Ends sessions and links with their credential, agent or organization. */
  readonly listener: LedgerListener;
  /** A one-time link for a client, for `countersign dev`. Undefined when the secret is wrong or cookies would not be safe. */
  linkFor(clientId: string, clientSecret: string): Promise<Link | undefined>;
}

export function createConsole(deps: ConsoleDeps): Console {
  const cookie = createSessionCookie(deps.settings.baseUrl);
  const sessions = createSessionService(deps, cookie);
  const links = createLinkService(deps, sessions);
  const codes = createCodeService(deps, sessions);
  return {
    routes: [
      ...consoleRoutes(sessions, createSignIn(deps, sessions), links, codes),
      ...providerSignInRoutes(createProviderSignIn(deps, sessions)),
      ...pageRoutes(createPages(deps)),
    ],
    loops: [createPurgeLoop(deps), createProviderPurgeLoop(deps)],
    sessions,
    authenticateSession: sessions.authenticateSession,
    explainNoSession: sessions.explainNoSession,
    listener: createSessionsListener(sessions),
    linkFor: links.linkFor,
  };
}
