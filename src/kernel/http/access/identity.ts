/** The result of authentication, and the caller that handlers see. */
import type { PlanTier } from '../../../contract/limits.ts';
import type { Scope } from '../../../contract/scopes.ts';
import type { Caller, Delegation, Origin, Person } from '../../caller.ts';
import type { WindowState } from '../rate-window.ts';
import type { CountedClient } from '../route.ts';

/**
 * The content of a verified access token, the scopes of an authenticated client or of a session, and the current state of the
 * organization. Requests with the same token share it.
 */
export interface Identity {
  readonly agentId: string;
  readonly organizationId: string;
  readonly organizationStatus: 'active' | 'suspended' | 'deleted';
  readonly planTier: PlanTier;
  /** The agent's own limit; null: the instance's. It lowers the window of a session, and does not raise it. */
  readonly rateLimitPerMinute?: number | null;
  readonly scopes: ReadonlySet<Scope>;
  readonly grantableScopes: ReadonlySet<Scope>;
  /** Absent for a client that authenticated with its credentials, and for a session. */
  readonly tokenId?: string;
  /** The end of the token, in milliseconds since 1970. */
  readonly tokenExpiresAt?: number;
  /** The credential that the token was issued with. */
  readonly credentialId?: string;
  /** The key that signed the client's assertion, for a token that was issued for one. */
  readonly keyId?: string;
  /** The key that the token is bound to (RFC 7638 thumbprint): each request proves its possession. */
  readonly keyThumbprint?: string;
  /** The session of the console. */
  readonly sessionId?: string;
  /** The trust policy that admitted the workload; it limits what the token may lend. */
  readonly trustPolicyId?: string;
  readonly delegation?: Delegation;
  /** Of a session that a person began. */
  readonly person?: Person;
  /** The token is valid, but its delegation has ended. */
  readonly ended?: 'DELEGATION_EXPIRED' | 'DELEGATION_REVOKED';
}

/** A refused token or client: its owner (nil UUIDs if it was never ours) and the reason. */
export interface TokenRefusal {
  readonly agentId: string;
  readonly organizationId: string;
  readonly reason: string;
  /** The reason, for the client: only for a token with our signature, and for client credentials. */
  readonly description?: string;
}

export interface RequestContext {
  readonly origin: Origin;
  caller?: Caller;
  /** The client that a request without an access token authenticated as: at the token endpoint, and at sign-in. */
  client?: CountedClient;
  /** The window after it had counted this request. A request that no step has counted counts against its address (response-hooks.ts). */
  counted?: WindowState;
}

export const isUsable = ({ organizationStatus, ended }: Identity): boolean =>
  organizationStatus === 'active' && !ended;

/** One literal without spreads: it is made for every authenticated request. */
export const callerOf = (
  identity: Identity,
  { origin: { requestId, ipAddress, userAgent } }: RequestContext,
): Caller => ({
  requestId,
  ipAddress,
  userAgent,
  agentId: identity.agentId,
  organizationId: identity.organizationId,
  scopes: identity.scopes,
  grantableScopes: identity.grantableScopes,
  tokenId: identity.tokenId,
  tokenExpiresAt: identity.tokenExpiresAt,
  credentialId: identity.credentialId,
  keyId: identity.keyId,
  keyThumbprint: identity.keyThumbprint,
  sessionId: identity.sessionId,
  trustPolicyId: identity.trustPolicyId,
  delegation: identity.delegation,
  person: identity.person,
});
