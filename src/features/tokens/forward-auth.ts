/**
 * Forward authentication: before each request to an API, its proxy asks whether the access token of the request opens it. Resource and
 * scopes are the proxy's; only the token is the client's. The answer to a valid token is headers for the API.
 */

import { equivalentUris, isLoopback } from '../../kernel/audience.ts';
import type { Origin } from '../../kernel/caller.ts';
import { memoize } from '../../kernel/data/shared-values.ts';
import { fail } from '../../kernel/fail.ts';
import { headerSafe } from '../../kernel/http/access/challenges.ts';
import type { TokenRefusal } from '../../kernel/http/access/identity.ts';
import {
  boundAsBearer,
  type PossessionRefusal,
  type PresentedToken,
  presentedToken,
  unboundAsDpop,
} from '../../kernel/http/access/possession.ts';
import { validationError } from '../../kernel/http/input/validation.ts';
import type { CountAgainst, CountedClient } from '../../kernel/http/route.ts';
import { anonymous } from '../../kernel/ids.ts';
import { proofRefusal } from '../../kernel/ports/possession.ts';
import type { TokenDeps } from './feature.ts';
import { isWithin, originalRequest } from './original-request.ts';
import type { PossessionChecks } from './possession.ts';
import type { ForwardAuthQuery } from './schema.ts';
import type { TokenVerifier, VerifiedToken } from './verify-token.ts';

interface ForwardAuthRequest {
  readonly query: ForwardAuthQuery;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly origin: Origin;
  readonly countAgainst: CountAgainst;
  refuseExceeded(client: CountedClient): Promise<void>;
}

interface PossessionProblem extends PossessionRefusal {
  readonly description: string;
}

type ForwardAuthRefusal = TokenRefusal & Partial<Pick<PossessionRefusal, 'error'>>;

/** The headers for the API. Fails with 401 or 403 and a challenge for the client. */
export type ForwardAuth = (request: ForwardAuthRequest) => Promise<Readonly<Record<string, string>>>;

export const forwardAuthHeaders = {
  'X-Countersign-Agent': 'the agent that calls: `client_id` of the token',
  'X-Countersign-Subject': 'the agent or person on whose behalf it calls: `sub` of the token',
  'X-Countersign-Subject-Type': '`agent` or `person`',
  'X-Countersign-Organization': "the agent's organization",
  'X-Countersign-Scopes': 'the scopes of the token, with blanks between them',
};

export function createForwardAuth(
  { recordRefusal, resourceIdentifiers }: Pick<TokenDeps, 'recordRefusal' | 'resourceIdentifiers'>,
  { verify, explain }: Pick<TokenVerifier, 'verify' | 'explain'>,
  { verifyPossession, algorithms }: Pick<PossessionChecks, 'verifyPossession' | 'algorithms'>,
): ForwardAuth {
  /** A refused token counts against the address: a sender whose token is not valid here cannot use up its agent's window. */
  const refuseToken = async (
    { query: { resource, scope }, origin, countAgainst }: ForwardAuthRequest,
    refusal?: ForwardAuthRefusal,
    isDpop = false,
  ): Promise<never> => {
    await countAgainst('address');
    if (refusal) {
      const { agentId, organizationId, reason } = refusal;
      const metadata = { reason, operation: 'forwardAuth', resource };
      await recordRefusal({
        actor: origin,
        type: 'authentication.refused',
        subject: { agentId, organizationId, outcome: 'failure', metadata },
      });
    }
    const message =
      refusal && (refusal.description ?? 'The access token is expired, revoked or not one of ours.');
    return fail('UNAUTHORIZED', {
      ...(message !== undefined && { message }),
      headers: challenge(isDpop, {
        ...(message !== undefined && {
          error: refusal?.error ?? 'invalid_token',
          error_description: message,
        }),
        scope,
        ...(isDpop && { algs: algorithms.join(' ') }),
      }),
    });
  };

  /** The audit log has no address of the API: it may have personal data. */
  const proofProblem = async (
    { headers, query, refuseExceeded }: ForwardAuthRequest,
    { token, isDpop }: PresentedToken,
    { claims: { cnf }, status: { agentId, rateLimitPerMinute } }: VerifiedToken,
  ): Promise<PossessionProblem | undefined> => {
    if (!cnf) return isDpop ? described(unboundAsDpop) : undefined;
    if (!isDpop) return described(boundAsBearer);
    const asked = originalRequest(headers);
    if (typeof asked === 'string') return described(proofRefusal(asked));
    if (!isWithin(asked.url, query.resource))
      return described(proofRefusal('the request is for an address outside the API'));
    // The window of the agent also bounds the signatures that are verified for it, and the proofs that are stored.
    await refuseExceeded({ clientId: agentId, rateLimitPerMinute });
    const expected = { ...asked, accessToken: token ?? '', thumbprint: cnf.jkt };
    const refusal = await verifyPossession(headers.dpop, expected);
    return (
      refusal && {
        ...described(refusal),
        reason: refusal.reason.replaceAll(asked.url, 'that of the request'),
      }
    );
  };

  const requireToken = async (request: ForwardAuthRequest): Promise<VerifiedToken> => {
    const { headers, query } = request;
    if (headers.authorization === undefined) return refuseToken(request);
    const presented = presentedToken(String(headers.authorization));
    const { token, isDpop } = presented;
    if (token === undefined) return refuseToken(request, { ...anonymous, ...malformed }, isDpop);
    const isFor = audienceTest(query.resource);
    const verified = await verify(token);
    if (!verified || !isFor(verified.claims.aud))
      return refuseToken(request, await explain(token, isFor), isDpop);
    const { agentId, organizationId } = verified.status;
    const reason = reasonToRefuse(verified, query);
    if (reason) return refuseToken(request, { agentId, organizationId, ...reason }, isDpop);
    const problem = await proofProblem(request, presented, verified);
    return problem ? refuseToken(request, { agentId, organizationId, ...problem }, true) : verified;
  };

  return async (request) => {
    const { query, countAgainst } = request;
    // Each organization has its own resource with this identifier, so the identifier alone admits the agents of all.
    if (query.organization_id === undefined && resourceIdentifiers === 'verified' && isLocal(query.resource))
      throw validationError('query', [
        { in: 'query', field: 'organization_id', message: 'is required for an address of your own machine' },
      ]);
    const verified = await requireToken(request);
    const { agentId, organizationId, rateLimitPerMinute } = verified.status;
    await countAgainst({ clientId: agentId, organizationId, rateLimitPerMinute });
    requireScopes(verified, query.scope, verified.claims.cnf !== undefined);
    return headersFor(verified);
  };
}

const described = ({ error, reason }: PossessionRefusal): PossessionProblem => ({
  error,
  reason,
  description: `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`,
});

const malformed = {
  reason: 'malformed',
  description: 'The header Authorization must have one access token.',
};

const isLocal = (resource: string): boolean => URL.canParse(resource) && isLoopback(resource);

const audienceTest =
  (resource: string) =>
  (audience: string): boolean =>
    audience === resource || equivalentUris(resource).includes(audience);

/** Why a token with the right audience opens nothing; undefined when it does. */
function reasonToRefuse(
  { status: { organizationId, organizationStatus }, ended, claims }: VerifiedToken,
  { organization_id: organization }: ForwardAuthQuery,
): Pick<TokenRefusal, 'reason' | 'description'> | undefined {
  if (organizationStatus !== 'active')
    return {
      reason: `organization ${organizationStatus}`,
      description: `The organization of the access token is ${organizationStatus}.`,
    };
  if (ended)
    return { reason: 'delegation ended', description: 'The delegation of the access token has ended.' };
  if (organization !== undefined && organization.toLowerCase() !== organizationId)
    return {
      reason: 'of another organization',
      description: 'The access token is of another organization.',
    };
  // A person approved these details and nothing else; only an API that reads them can keep to them.
  if (claims.authorization_details !== undefined)
    return {
      reason: 'limited by authorization_details',
      description: 'The access token is for approved details only, which the proxy of this API cannot check.',
    };
  return undefined;
}

/** A token without any scope opens nothing, even if the proxy asks for none. */
function requireScopes({ scopes }: VerifiedToken, required: string | undefined, isDpop: boolean): void {
  const missing = required?.split(' ').filter((scope) => !scopes.includes(scope)) ?? [];
  if (missing.length === 0 && scopes.length > 0) return;
  const message =
    missing.length === 0
      ? 'The access token has no scope.'
      : `This request needs the scope ${missing.join(' ')}, which your token does not carry.`;
  fail('INSUFFICIENT_SCOPE', {
    message,
    details: { required: required?.split(' ') ?? [], held: [...scopes] },
    headers: challenge(isDpop, { error: 'insufficient_scope', error_description: message, scope: required }),
  });
}

const headersFor = memoize(({ claims, scopes, delegation }: VerifiedToken) => {
  const values: Record<keyof typeof forwardAuthHeaders, string> = {
    'X-Countersign-Agent': claims.client_id,
    'X-Countersign-Subject': claims.sub,
    'X-Countersign-Subject-Type': delegation?.subjectType ?? 'agent',
    'X-Countersign-Organization': claims.organization_id,
    'X-Countersign-Scopes': scopes.join(' '),
  };
  return Object.freeze(values);
});

/** RFC 6750 §3, RFC 9449 §7.1. */
function challenge(
  isDpop: boolean,
  parameters: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const texts = Object.entries({ realm: 'countersign', ...parameters }).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}="${headerSafe(value)}"`],
  );
  return { 'www-authenticate': `${isDpop ? 'DPoP' : 'Bearer'} ${texts.join(', ')}` };
}
