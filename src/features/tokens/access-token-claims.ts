/** The claims of our access tokens, as draft-token.ts writes them. */
import type { Delegation } from '../../kernel/caller.ts';
import { isUuid } from '../../kernel/ids.ts';
import { countActors, maxActors } from '../../kernel/ports/external-tokens.ts';
import type { Claims } from '../../kernel/ports/signer.ts';
import type { ScopeEpochs } from '../resources/audience-scopes.ts';
import type { AssertedActor } from './grant.ts';
import type { AgentStatus } from './store.ts';

const textClaims = ['aud', 'sub', 'client_id', 'scope', 'organization_id', 'jti'] as const;
const timeClaims = ['iat', 'exp'] as const;
export const requiredClaims = [...textClaims, ...timeClaims];

export type AccessTokenClaims = Record<(typeof textClaims)[number], string> &
  Record<(typeof timeClaims)[number], number> & {
    /** Absent in tokens of earlier versions; null for a token that was issued without a client secret. */
    readonly credential_id?: string | null;
    /** Of a workload's token: the trust policy that admitted it. */
    readonly trust_policy_id?: string;
    /** The key that signed the client's assertion (RFC 7638 thumbprint). */
    readonly key_id?: string;
    /**
     * The sum of the epochs that the token depends on: counters in PostgreSQL that grow with each end of tokens, and never shrink.
     * While the sum is the same, none of them has grown. So one comparison finds every end, and no clock decides (decision 020).
     * Absent in tokens of earlier versions.
     */
    readonly epoch?: number;
    /** Of a token whose subject is a person. */
    readonly sub_profile?: unknown;
    /** Of such a token, if its client came by a metadata document: the document's address. */
    readonly client_uri?: unknown;
    /** What exactly was approved (RFC 9396). */
    readonly authorization_details?: unknown;
    /** Of a token that is bound to a key: `jkt` is its thumbprint. */
    readonly cnf?: { readonly jkt: string };
    readonly act?: unknown;
    readonly chain_id?: unknown;
    readonly chain_path?: unknown;
  };

/** A token with our signature and any other shape is a defect of ours. Its claims must not reach SQL. */
export const isAccessTokenClaims = (claims: Claims): claims is AccessTokenClaims =>
  textClaims.every((name) => typeof claims[name] === 'string') &&
  timeClaims.every((name) => Number.isInteger(claims[name])) &&
  isUuid(String(claims.client_id)) &&
  isUuid(String(claims.jti)) &&
  isUuid(String(claims.organization_id)) &&
  (claims.epoch === undefined || Number.isSafeInteger(claims.epoch)) &&
  (claims.credential_id == null || isUuid(String(claims.credential_id))) &&
  (claims.cnf === undefined || isConfirmation(claims.cnf)) &&
  (claims.trust_policy_id === undefined || isUuid(String(claims.trust_policy_id))) &&
  (readDelegation(claims as AccessTokenClaims) !== undefined || isOwn(claims as AccessTokenClaims));

const isConfirmation = (cnf: unknown): boolean =>
  typeof cnf === 'object' && cnf !== null && 'jkt' in cnf && typeof cnf.jkt === 'string';

/** A token of the agent's own has no claim of a delegation. */
const isOwn = (claims: AccessTokenClaims): boolean =>
  claims.sub === claims.client_id && !('act' in claims) && !('chain_id' in claims);

/** Actors of other issuers below ours: each names its issuer, so that none is taken for an agent of ours. */
function isAssertedActor(outermost: unknown): outermost is AssertedActor {
  for (let act = outermost; act !== undefined; act = (act as { act?: unknown }).act) {
    if (typeof act !== 'object' || act === null) return false;
    const { iss, sub } = act as { iss?: unknown; sub?: unknown };
    if (typeof iss !== 'string' || typeof sub !== 'string') return false;
  }
  return countActors({ act: outermost }) <= maxActors;
}

/** Our agents only. Undefined for a token of the agent's own, and for claims of any other shape. */
export function readDelegation(claims: AccessTokenClaims): Delegation | undefined {
  const { sub: subjectId, sub_profile, client_id, chain_id, chain_path } = claims;
  const chainIds = Array.isArray(chain_path) ? chain_path.map(String) : [];
  const actorIds: string[] = [];
  let { act } = claims;
  while (typeof act === 'object' && act !== null && !('iss' in act) && actorIds.length < chainIds.length) {
    const { sub, act: earlier } = act as { sub?: unknown; act?: unknown };
    actorIds.push(String(sub));
    act = earlier;
  }
  const isComplete =
    chainIds.length > 0 &&
    (act === undefined || isAssertedActor(act)) &&
    actorIds.length === chainIds.length &&
    actorIds[0] === client_id &&
    chainIds.at(-1) === chain_id &&
    [subjectId, ...actorIds, ...chainIds].every(isUuid);
  if (!isComplete) return undefined;
  return { subjectId, ...(sub_profile === 'person' && { subjectType: 'person' }), actorIds, chainIds };
}

type Counted = Pick<AgentStatus, 'epoch'>;

/** The sum of the epochs of the agents that the token depends on, and of their organization. */
export const agentsEpoch = (
  { organizationEpoch, epoch }: Counted & Pick<AgentStatus, 'organizationEpoch'>,
  others: readonly Counted[] = [],
): number => others.reduce((sum, other) => sum + other.epoch, organizationEpoch + epoch);

/** The sum of the epochs of the scopes that a resource's token carries. */
export const scopesEpoch = (epochs: ScopeEpochs, scopes: readonly string[]): number =>
  scopes.reduce((sum, scope) => sum + (Object.hasOwn(epochs, scope) ? (epochs[scope] ?? 0) : 0), 0);
