/**
 * Console: sessions of people who sign in to the web console, one-time links, codes for the command line, sign-in through an
 * OpenID provider, and the files of the console. Owns `console_sessions`, `console_links`, `console_codes` and `provider_sign_ins`. A
 * session is a cookie instead of a token: the guard gives its requests to the same routes, limits and audit log as the API
 * (kernel/http/access/session-requests.ts).
 */

import type { BuiltFiles } from '../../kernel/http/responses/built-files.ts';
import type { RequirePermission } from '../../kernel/policy.ts';
import type { OpenIdProvider } from '../../kernel/ports/openid-provider.ts';
import type { RecordRefusal } from '../../kernel/refusals.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { ConsentService } from '../authorization/consent.ts';
import type { RequestSignIn } from '../authorization/sign-in.ts';
import type { ConnectionProviders } from '../connections/providers.ts';
import type { CredentialService } from '../credentials/service.ts';
import type { CredentialUses } from '../credentials/uses.ts';
import type { OrganizationService } from '../organizations/service.ts';
import type { PeopleSignIn } from '../people/service.ts';
import type { Tokens } from '../tokens/feature.ts';
import { createCodeService } from './codes/service.ts';
import { createLinkService } from './links/service.ts';
import { createProviderPurgeLoop } from './oidc/loops.ts';
import { providerSignInRoutes } from './oidc/routes.ts';
import { createProviderSignIn } from './oidc/service.ts';
import { consoleRoutes } from './routes.ts';
import { createSessionCookie } from './sessions/cookie.ts';
import { createSessionsListener } from './sessions/listener.ts';
import { createPurgeLoop } from './sessions/loops.ts';
import { createSessionService } from './sessions/service.ts';
import { createSignIn } from './sessions/sign-in.ts';
import { createPages } from './static/pages.ts';
import { pageRoutes } from './static/routes.ts';

interface ConsoleSettings {
  /** The public address. It decides whether the cookie is `Secure`. */
  readonly baseUrl: string;
  readonly multiTenant: boolean;
  /** Not a production instance. */
  readonly dev: boolean;
}

export interface ConsoleDeps extends Pick<SharedDeps, 'db' | 'clock' | 'ids' | 'ledger' | 'log'> {
  readonly recordRefusal: RecordRefusal;
  readonly settings: ConsoleSettings;
  readonly files: BuiltFiles;
  readonly findCredential: CredentialService['findBySecret'];
  readonly recordUse: CredentialUses['recordUse'];
  readonly findEligibility: Tokens['findEligibility'];
  readonly lockEligibility: Tokens['lockEligibility'];
  readonly roleOf: OrganizationService['roleOf'];
  /** The instance's own OpenID provider; undefined when none is configured. */
  readonly provider: OpenIdProvider | undefined;
  readonly people: PeopleSignIn;
  readonly connections: ConnectionProviders;
  readonly requirePermission: RequirePermission;
  readonly continueRequest: ConsentService['continueRequest'];
  /** Of an authorization request that this browser has begun: another site may then send it to the sign-in. */
  readonly findRequestPrompt: RequestSignIn['findPrompt'];
}

export function createConsole(deps: ConsoleDeps) {
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
    /** Ends sessions and links with their credential, agent, organization, person or connection. */
    listener: createSessionsListener(sessions),
    linkFor: links.linkFor,
  };
}

export type Console = ReturnType<typeof createConsole>;
