import type { Scope } from '../contract/scopes.ts';
import { operatorScope } from '../contract/scopes.ts';
import { fail } from './fail.ts';

/** Where a request came from: goes into every audit event. */
export interface Origin {
  readonly requestId: string;
  readonly ipAddress: string;
  readonly userAgent: string;
}

/** On whose behalf a token is used, and by which delegations it came to whoever uses it. */
export interface Delegation {
  /** The agent whose power was delegated first. */
  readonly subjectId: string;
  /** Who acts, then who delegated to it, and so on down to the subject's own delegatee. */
  readonly actorIds: readonly string[];
  /** One for each actor, the first delegation first. */
  readonly chainIds: readonly string[];
}

/** Who is calling, as the guard established it from a verified access token. */
export interface Caller extends Origin {
  readonly agentId: string;
  readonly organizationId: string;
  readonly scopes: ReadonlySet<Scope>;
  /**
   * The scopes the caller may turn into standing power: into an agent's `allowedScopes`, a secret, a key or a trust policy.
   * For an agent's own token these are its scopes; for a delegated token, those of them the acting agent may hold itself.
   */
  readonly grantableScopes: ReadonlySet<Scope>;
  readonly tokenId: string;
  /** When it acts on another's behalf: it then has the scopes of its token and no role. */
  readonly delegation?: Delegation;
}

/** Who did something, for the ledger. Commands run by the operator at the console have no token. */
export type Actor = Origin & Partial<Pick<Caller, 'agentId' | 'organizationId' | 'delegation'>>;

/** Never on another agent's behalf: the operator's scope cannot be delegated. */
export const isOperator = (caller: Caller): boolean =>
  caller.delegation === undefined && caller.scopes.has(operatorScope);

/** The only organization whose rows the caller sees; undefined for the operator, who crosses organizations. */
export const tenantOf = (caller: Caller): string | undefined =>
  isOperator(caller) ? undefined : caller.organizationId;

/**
 * A caller cannot give an agent scopes that it may not grant: not by creating or widening the agent, nor by minting a
 * secret for it, because the holder of an agent's secret is that agent. The operator may grant anything.
 */
export function refuseEscalation(caller: Caller, granted: readonly string[]): void {
  if (isOperator(caller)) return;
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
 * What a caller does in an agent's name (a credential, a reactivation, a listing) outlives the delegation it was done with. So a
 * delegated caller may do it only if its own agent may hold `agents:write`, and never for another agent of its chain: with
 * that agent's credential it would act without `act`, without an end, and beyond revocation.
 */
export function refuseLastingPower({ delegation, agentId, grantableScopes }: Caller, ownerId: string): void {
  if (!delegation) return;
  if (ownerId !== agentId && [delegation.subjectId, ...delegation.actorIds].includes(ownerId))
    fail('FORBIDDEN', {
      message: 'A delegated token cannot give power to, or speak for, another agent of its own chain.',
    });
  if (!grantableScopes.has('agents:write'))
    fail('FORBIDDEN', {
      message:
        'A delegated token can give power to an agent, or speak for it, only if your own agent may hold agents:write.',
      details: { exceeded: ['agents:write'] },
    });
}

/**
 * A secret that is shown once, or an address that goes on receiving, outlives the delegation. A delegated caller may have it only if its
 * own agent may hold the scope as well.
 */
export function refuseBorrowedScope(
  { delegation, grantableScopes }: Caller,
  scope: Scope,
  message: string,
): void {
  if (delegation && !grantableScopes.has(scope))
    fail('FORBIDDEN', { message, details: { exceeded: [scope] } });
}
