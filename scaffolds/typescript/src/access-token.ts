import { createRemoteJWKSet, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';

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
  readonly claims: JWTPayload;
}

export type VerifierOptions = {
  /** The issuer of the tokens: the API's address. */
  readonly issuer: string;
  /** The audience that tokens must be meant for. */
  readonly audience: string;
  readonly keys?: JWTVerifyGetKey;
} & (
  | {
      /** The organization whose tokens are accepted. */
      readonly organizationId: string;
      readonly acceptAnyOrganization?: false;
    }
  | {
      /** Tokens of every organization on the instance are accepted: compare `organizationId` yourself. */
      readonly acceptAnyOrganization: true;
    }
);

/** The algorithms that an instance may have. `jose` uses a key with its own algorithm only. */
const algorithms = ['RS256', 'ES256', 'EdDSA'];
const clockToleranceSeconds = 5;
const maxActors = 10;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Checks access tokens that others present to this agent. Keys are fetched when the first token arrives, when an unknown one
 * appears (at most every 30 seconds), and every ten minutes.
 */
export function createVerifier(
  options: VerifierOptions,
): (token: string) => Promise<VerifiedToken> {
  const {
    issuer,
    audience,
    keys = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`)),
  } = options;
  const expected = options.acceptAnyOrganization === true ? undefined : options.organizationId;
  if (options.acceptAnyOrganization !== true && !isId(expected)) {
    throw new TypeError('organizationId must be a UUID; or set acceptAnyOrganization');
  }
  return async (token) => {
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience,
      algorithms,
      typ: 'at+jwt',
      requiredClaims: ['exp'],
      clockTolerance: clockToleranceSeconds,
    });
    const verified = read(payload);
    if (expected !== undefined && verified.organizationId !== expected) {
      throw invalid(
        payload,
        'organization_id',
        `the token is of organization ${verified.organizationId}, not ${expected}`,
      );
    }
    return verified;
  };
}

function read(payload: JWTPayload): VerifiedToken {
  const { scope = '' } = payload;
  if (typeof scope !== 'string') throw invalid(payload, 'scope', 'scope must be a string');
  return {
    agentId: readId(payload, 'client_id'),
    subject: readId(payload, 'sub'),
    ...readDelegation(payload),
    scopes: scope.split(' ').filter(Boolean),
    organizationId: readId(payload, 'organization_id'),
    claims: payload,
  };
}

function readDelegation(payload: JWTPayload): Pick<VerifiedToken, 'actors' | 'chainId'> {
  if (!('act' in payload)) {
    if ('chain_id' in payload) throw invalid(payload, 'chain_id', 'chain_id without act');
    if (payload.sub !== payload.client_id) {
      throw invalid(payload, 'act', 'sub and client_id differ, but act is missing');
    }
    return { actors: [], chainId: undefined };
  }
  const actors: string[] = [];
  let holder: object = payload;
  while ('act' in holder) {
    const { act } = holder;
    if (typeof act !== 'object' || act === null || !('sub' in act) || !isId(act.sub)) {
      throw invalid(payload, 'act', 'act must name an agent in sub');
    }
    if (actors.length === maxActors) {
      throw invalid(payload, 'act', `act names more than ${maxActors} agents`);
    }
    actors.push(act.sub);
    holder = act;
  }
  if (actors[0] !== payload.client_id) {
    throw invalid(payload, 'act', 'act names another agent than client_id');
  }
  return { actors, chainId: readId(payload, 'chain_id') };
}

function readId(payload: JWTPayload, claim: string): string {
  const value = payload[claim];
  if (!isId(value)) throw invalid(payload, claim, `${claim} must be a UUID`);
  return value;
}

const isId = (value: unknown): value is string => typeof value === 'string' && uuid.test(value);

const invalid = (payload: JWTPayload, claim: string, message: string) =>
  new errors.JWTClaimValidationFailed(message, payload, claim, 'check_failed');
