import type { Scope } from '../../contract/scopes.ts';
import type { Actor, Caller, Origin, Person } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Db, Queryable, Tx } from '../../kernel/data/db.ts';
import type { LedgerListener } from '../../kernel/domain-event.ts';
import type { SessionDeps } from '../../kernel/http/access/session-requests.ts';
import type { StaticContent } from '../../kernel/http/responses/static-content.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { Log } from '../../kernel/observability/log.ts';
import type { Role } from '../../kernel/policy.ts';
import type { OpenIdProvider } from '../../kernel/ports/openid-provider.ts';
import type { RecordRefusal } from '../../kernel/refusals.ts';
import type { InvitedPeople } from './oidc/deps.ts';
import type { Link } from './schema.ts';

/** The agent that signs in. */
export interface SignInEligibility {
  readonly organizationId: string;
  readonly organizationStatus: 'active' | 'suspended' | 'deleted';
  /** Why the agent can get no token, and so no session. */
  readonly problem?: string;
  readonly scopes: readonly Scope[];
}

/** The files of the console's build. */
export interface ConsoleFiles {
  /** The page, with a placeholder for the nonce; undefined when the console is not built. */
  page(): Promise<string | undefined>;
  /** A file by its name within the build, such as `assets/index-4Fz.js`. */
  find(name: string): Promise<ConsoleFile | undefined>;
}

export interface ConsoleFile {
  readonly content: StaticContent;
  readonly contentType: string;
  /** The name has a hash of the content. */
  readonly immutable: boolean;
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

export type SignInMethod = 'client' | 'link' | 'oidc' | 'command-line';

export interface NewSession {
  readonly method: SignInMethod;
  readonly agentId: string;
  readonly organizationId: string;
  /** The session has these, as far as the agent may hold them at the time of a request. */
  readonly scopes: readonly Scope[];
  /** The session ends with it. */
  readonly credentialId?: string | undefined;
  /** The key that the client proved to hold; for the ledger. */
  readonly keyId?: string | undefined;
  /** The session ends with the person too. */
  readonly person?: Person | undefined;
  /** The session whose code begins this one: signing out of it ends both, and this one ends no later. */
  readonly maker?: { readonly sessionId: string; readonly expiresAt: string };
}

/** The sessions that end together. */
export type SessionOwner =
  | { readonly agentId: string }
  | { readonly organizationId: string }
  | { readonly credentialId: string }
  | { readonly personId: string };

export interface RefusedSignIn {
  readonly method: SignInMethod;
  readonly reason: string;
  /** Nil UUIDs when they are not known. */
  readonly agentId: string;
  readonly organizationId: string;
}

/** Sessions for other ways to sign in. */
export interface Sessions {
  /** Why no session can begin on this instance: a cookie would travel unencrypted. */
  readonly cookieProblem: string | undefined;
  /** FORBIDDEN with that problem. */
  requireSafeCookies(): void;
  /**
   * Begins a session, and records it in the same transaction. The caller has authenticated the person or the client, and has locked
   * the agent. Returns the value of `Set-Cookie`. The session in `cookies`, the header `Cookie` of the request, ends.
   */
  create(tx: Tx, origin: Origin, session: NewSession, cookies?: string): Promise<string>;
  /** Ends all sessions of the owner. */
  endAll(tx: Tx, actor: Actor, owner: SessionOwner, reason: string): Promise<void>;
  /** Records `session.refused`, within the limits of refusals. */
  recordRefusal(origin: Origin, refused: RefusedSignIn): Promise<void>;
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
