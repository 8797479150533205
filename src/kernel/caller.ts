import type { Scope } from '../contract/scopes.ts';
import { operatorScope } from '../contract/scopes.ts';
import { fail } from './fail.ts';

/** The source of a request; part of every audit event. */
export interface Origin {
  readonly requestId: string;
  readonly ipAddress: string;
  readonly userAgent: string;
}

/** The delegations behind a token: from the subject to the acting agent. */
export interface Delegation {
  /** The first delegator. */
  readonly subjectId: string;
  /** Absent for an agent. */
  readonly subjectType?: 'person';
  /** The acting agent first, then its delegator, and so on to the subject's own delegatee. */
  readonly actorIds: readonly string[];
  /** One per actor, the first delegation first. */
  readonly chainIds: readonly string[];
}

/** A person who signed in to the console through an OpenID provider, and acts through an agent; a member through none. */
export interface Person {
  readonly personId: string;
  readonly name: string;
  /** The role in the organization, instead of the agent's. A member has no agent: `agentId` is then the nil UUID, and there are no scopes. */
  readonly role: 'admin' | 'none' | 'member';
}

/** A viewer has no role: the session has scopes that only read. */
export const actingPerson = ({
  personId,
  name,
  role,
}: Pick<Person, 'personId' | 'name'> & { role: 'admin' | 'viewer' | 'member' }): Person => ({
  personId,
  name,
  role: role === 'viewer' ? 'none' : role,
});

/** An idempotency key: travels with the caller to the ledger, so that the key commits with the change it belongs to. */
export interface IdempotencyKey {
  readonly caller: string;
  readonly keyHash: Buffer;
  readonly requestHash: Buffer;
  /** The event that records the creation, and the field of it that has the id. */
  readonly event: string;
  readonly idField: string;
}

/** The caller: the guard creates it from a verified access token, or from client credentials on routes that accept them. */
export interface Caller extends Origin {
  readonly agentId: string;
  readonly organizationId: string;
  readonly scopes: ReadonlySet<Scope>;
  /**
   * The scopes that the caller may grant permanently: by an agent's `allowedScopes`, a secret, a key or a trust policy.
   * For an agent's own token these are its scopes; for a delegated token, those that the acting agent may hold itself, and none for a
   * workload.
   */
  readonly grantableScopes: ReadonlySet<Scope>;
  /** Absent when the caller authenticated with client credentials or by a session of the console. */
  readonly tokenId?: string | undefined;
  /** The end of the token, in milliseconds since 1970. */
  readonly tokenExpiresAt?: number | undefined;
  /** The credential that the token was issued with. */
  readonly credentialId?: string | undefined;
  /** The key that signed the client's assertion (RFC 7638 thumbprint), for a token that was issued for one. */
  readonly keyId?: string | undefined;
  /** The key that the token is bound to (RFC 7638 thumbprint); the request has proved its possession. */
  readonly keyThumbprint?: string | undefined;
  /** The session of the console. */
  readonly sessionId?: string | undefined;
  /**
   * Of a token that a workload got by a trust policy. The policy is a ceiling: the caller has the scopes of the token, of the agent's
   * grants and role the part that the policy names, and no right to change its own agent.
   */
  readonly trustPolicyId?: string | undefined;
  /** Of a delegated token: the caller then has the token's scopes and no role. */
  readonly delegation?: Delegation | undefined;
  /** Of a session that a person began. */
  readonly person?: Person | undefined;
  /** Of a request with an `Idempotency-Key`: commits with the change. */
  readonly idempotencyKey?: IdempotencyKey;
}

/** The actor of a domain event. Commands that the operator runs on the command line have no agent. */
export type Actor = Origin &
  Partial<
    Pick<
      Caller,
      | 'agentId'
      | 'organizationId'
      | 'scopes'
      | 'credentialId'
      | 'keyId'
      | 'trustPolicyId'
      | 'sessionId'
      | 'delegation'
      | 'person'
      | 'idempotencyKey'
    >
  >;

/** Never for a delegated token: the operator's scope cannot be delegated. */
export const isOperator = (caller: Caller): boolean =>
  caller.delegation === undefined && caller.scopes.has(operatorScope);

/** The only organization whose rows the caller sees; undefined for an operator, which crosses organizations. */
export const tenantOf = (caller: Caller): string | undefined =>
  isOperator(caller) ? undefined : caller.organizationId;

/** Why a caller lacks the role that its agent may have; the end of a sentence that asks for the role. */
export function missingRole({ delegation, trustPolicyId }: Caller): string {
  if (delegation) return ', which a delegated token does not carry';
  return trustPolicyId === undefined ? '' : ', which a token by a trust policy has only with actsAsAdmin';
}

/**
 * Prevents privilege escalation: a caller cannot give an agent scopes that it may not grant, neither by creating or widening the
 * agent nor by creating a secret for it, because the holder of an agent's secret acts as that agent. Operators may grant any scope,
 * unless a trust policy gave the token: then the scopes of the token are the limit for them too.
 */
export function refuseEscalation(caller: Caller, granted: readonly string[]): void {
  if (isOperator(caller) && caller.trustPolicyId === undefined) return;
  const grantable: ReadonlySet<string> = caller.grantableScopes;
  const exceeded = [...new Set(granted)].filter((scope) => !grantable.has(scope));
  if (exceeded.length === 0) return;
  const reason = caller.delegation
    ? 'that your delegated token and your own agent do not both hold'
    : 'that your own token lacks';
  fail('FORBIDDEN', {
    message: `This concerns scopes ${reason}: ${exceeded.join(', ')}.`,
    details: { exceeded },
  });
}

/**
 * A secret that is shown once, or a URL that keeps receiving events, outlives the delegation. A delegated caller may have it only if
 * its own agent may hold the scope as well.
 */
export function refuseBorrowedScope(
  { delegation, grantableScopes }: Caller,
  scope: Scope,
  message: string,
): void {
  if (delegation && !grantableScopes.has(scope))
    fail('FORBIDDEN', { message, details: { exceeded: [scope] } });
}

/** The end of a workload's token, in milliseconds since 1970: the tokens and delegations that it makes end with it. Infinity for other callers. */
export function workloadTokenEnd({ trustPolicyId, tokenExpiresAt }: Caller): number {
  if (trustPolicyId === undefined) return Infinity;
  return tokenExpiresAt ?? fail('FORBIDDEN', { message: 'A workload needs an access token here.' });
}
