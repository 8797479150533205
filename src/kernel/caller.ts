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
  readonly tokenId: string;
  /** When it acts on another's behalf: it then has the scopes of its token and no role. */
  readonly delegation?: Delegation;
}

/** Who did something, for the ledger. Commands run by the operator at the console have no token. */
export type Actor = Origin & Partial<Pick<Caller, 'agentId' | 'organizationId' | 'delegation'>>;

export const isOperator = (caller: Caller): boolean => caller.scopes.has(operatorScope);

/** The only organization whose rows the caller sees; undefined for the operator, who crosses organizations. */
export const tenantOf = (caller: Caller): string | undefined =>
  isOperator(caller) ? undefined : caller.organizationId;

/**
 * Nobody can give what they do not hold: not to an agent they create or widen, nor by minting a secret for one, since
 * whoever holds an agent's secret is that agent. The operator may grant anything.
 */
export function refuseAmplification(caller: Caller, granted: readonly string[]): void {
  if (isOperator(caller)) return;
  const held: ReadonlySet<string> = caller.scopes;
  const exceeded = [...new Set(granted)].filter((scope) => !held.has(scope));
  if (exceeded.length > 0) {
    fail('FORBIDDEN', {
      message: `This concerns scopes that your own token lacks: ${exceeded.join(', ')}.`,
      details: { exceeded },
    });
  }
}
