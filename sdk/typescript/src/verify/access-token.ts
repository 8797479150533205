/** The claims of an access token. */
import type { JWTPayload } from 'jose';

/** A genuine access token. It is delegated when `actors` is not empty. */
export interface VerifiedToken {
  /** The agent that acts, which the token was issued to: `client_id`. */
  readonly agentId: string;
  /** The agent on whose behalf it acts: `sub`. The same as `agentId` unless the token is delegated. */
  readonly subject: string;
  /** The agents of the delegation chain (`act`): the one that acts now first, the subject's own delegatee last. */
  readonly actors: readonly string[];
  /** The delegation: `chain_id`. */
  readonly chainId: string | undefined;
  readonly scopes: readonly string[];
  readonly organizationId: string;
  /** Those about the agent (`agent_type` and others) are no reason to allow a delegated call: the delegator may have made the agent. */
  readonly claims: JWTPayload;
}

const maxActors = 10;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export const isId = (value: unknown): value is string => typeof value === 'string' && uuid.test(value);

export const splitScopes = (scope: string): string[] => scope.split(' ').filter(Boolean);

/** The claims are signed. Throws unless they are those of an access token and do not contradict one another. */
export function readClaims(claims: JWTPayload): VerifiedToken {
  const { scope = '' } = claims;
  if (typeof scope !== 'string') throw new Error('scope must be a string');
  return {
    agentId: readId(claims, 'client_id'),
    subject: readId(claims, 'sub'),
    ...readDelegation(claims),
    scopes: splitScopes(scope),
    organizationId: readId(claims, 'organization_id'),
    claims,
  };
}

function readDelegation(claims: JWTPayload): Pick<VerifiedToken, 'actors' | 'chainId'> {
  if (!('act' in claims)) {
    if ('chain_id' in claims) throw new Error('chain_id without act');
    if (claims.sub !== claims.client_id) throw new Error('sub and client_id differ, but act is missing');
    return { actors: [], chainId: undefined };
  }
  const actors: string[] = [];
  let holder: object = claims;
  while ('act' in holder) {
    const { act } = holder;
    if (typeof act !== 'object' || act === null || !('sub' in act) || !isId(act.sub))
      throw new Error('act must name an agent in sub');
    if (actors.length === maxActors) throw new Error(`act names more than ${maxActors} agents`);
    actors.push(act.sub);
    holder = act;
  }
  if (actors[0] !== claims.client_id) throw new Error('act names another agent than client_id');
  return { actors, chainId: readId(claims, 'chain_id') };
}

function readId(claims: JWTPayload, name: string): string {
  const value = claims[name];
  if (!isId(value)) throw new Error(`${name} must be a UUID`);
  return value;
}
