/** The claims of an access token. */
import type { JWTPayload } from 'jose';

/** On whose behalf an agent acts: `sub` and `sub_profile`. */
export interface Subject {
  readonly type: 'person' | 'agent';
  readonly id: string;
}

/** One action, valid by the schema that the API has for its type. */
export interface AuthorizationDetail extends Readonly<Record<string, unknown>> {
  readonly type: string;
}

/** A genuine access token. It is delegated when it has a `chainId`. */
export interface VerifiedToken {
  /** The agent that acts, which the token was issued to: `client_id`. */
  readonly agentId: string;
  /** The person or the agent on whose behalf it acts. The agent itself unless the token is delegated. */
  readonly subject: Subject;
  /**
   * The agents that act (`act`): the one that acts now first, the subject's own delegatee last. The agent alone unless delegated. Actors
   * that another issuer named are no agents of the instance: they have an `iss`, and are only in `claims.act`.
   */
  readonly actors: readonly string[];
  /** The delegation: `chain_id`. A token of a person always has one. */
  readonly chainId: string | undefined;
  readonly scopes: readonly string[];
  /** What exactly a person approved (`authorization_details`, RFC 9396). Empty: the scopes alone say it. */
  readonly authorizationDetails: readonly AuthorizationDetail[];
  readonly organizationId: string;
  /** The key to which the token is bound (`cnf.jkt`): the sender of the request has proved that it has the key. */
  readonly keyThumbprint?: string;
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
  const agentId = readId(claims, 'client_id');
  const subject = readSubject(claims);
  return {
    agentId,
    subject,
    ...readDelegation(claims, agentId, subject),
    scopes: splitScopes(scope),
    authorizationDetails: readDetails(claims),
    organizationId: readId(claims, 'organization_id'),
    ...readKey(claims),
    claims,
  };
}

/** Only tokens of people have `sub_profile`. */
function readSubject(claims: JWTPayload): Subject {
  const id = readId(claims, 'sub');
  if (!('sub_profile' in claims)) return { type: 'agent', id };
  if (claims.sub_profile !== 'person') throw new Error('sub_profile must be person');
  return { type: 'person', id };
}

function readDelegation(
  claims: JWTPayload,
  agentId: string,
  subject: Subject,
): Pick<VerifiedToken, 'actors' | 'chainId'> {
  if (!('act' in claims)) {
    if (subject.type === 'person') throw new Error('sub is a person, but act is missing');
    if ('chain_id' in claims) throw new Error('chain_id without act');
    if (subject.id !== agentId) throw new Error('sub and client_id differ, but act is missing');
    return { actors: [agentId], chainId: undefined };
  }
  const actors: string[] = [];
  let holder: object = claims;
  while ('act' in holder) {
    const { act } = holder;
    if (actors.length > 0 && isAsserted(act)) {
      checkAsserted(act);
      break;
    }
    if (typeof act !== 'object' || act === null || !('sub' in act) || !isId(act.sub) || !isAgent(act))
      throw new Error('act must name an agent in sub');
    if (actors.length === maxActors) throw new Error(`act names more than ${maxActors} agents`);
    actors.push(act.sub);
    holder = act;
  }
  if (actors[0] !== agentId) throw new Error('act names another agent than client_id');
  if (subject.type === 'person' && actors.includes(subject.id))
    throw new Error('sub is a person, but act names it as an agent');
  return { actors, chainId: readId(claims, 'chain_id') };
}

/** Of another issuer, which an identity assertion named. Those that acted before it are so, too. */
const isAsserted = (act: unknown): act is { readonly iss: unknown } =>
  typeof act === 'object' && act !== null && 'iss' in act;

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';

function checkAsserted(outermost: object): void {
  let holder: object = { act: outermost };
  for (let count = 0; 'act' in holder; count += 1) {
    const { act } = holder;
    if (!isAsserted(act) || !isText(act.iss) || !('sub' in act) || !isText(act.sub))
      throw new Error('act of another issuer must name an actor in iss and sub');
    if (count === maxActors) throw new Error(`act names more than ${maxActors} actors of other issuers`);
    holder = act;
  }
}

function readKey({ cnf }: JWTPayload): Pick<VerifiedToken, 'keyThumbprint'> {
  if (cnf === undefined) return {};
  const { jkt } = (typeof cnf === 'object' && cnf !== null ? cnf : {}) as { readonly jkt?: unknown };
  if (typeof jkt !== 'string' || jkt === '') throw new Error('cnf must name a key in jkt');
  return { keyThumbprint: jkt };
}

function readDetails({ authorization_details: details = [] }: JWTPayload): AuthorizationDetail[] {
  if (!isDetails(details)) throw new Error('authorization_details must be a list of objects with a type');
  return details;
}

export const isDetails = (value: unknown): value is AuthorizationDetail[] =>
  Array.isArray(value) && value.every((each) => typeof each?.type === 'string');

/** Tokens of agents do not say it. */
const isAgent = (act: object): boolean =>
  !isAsserted(act) && (!('sub_profile' in act) || act.sub_profile === 'ai_agent');

function readId(claims: JWTPayload, name: string): string {
  const value = claims[name];
  if (!isId(value)) throw new Error(`${name} must be a UUID`);
  return value;
}
