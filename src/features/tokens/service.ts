import type { TokenErrorCode } from '../../contract/errors.ts';
import { limits } from '../../contract/limits.ts';
import { isScope, type Scope, scopes } from '../../contract/scopes.ts';
import type { Origin } from '../../kernel/caller.ts';
import { failToken, TokenError } from '../../kernel/fail.ts';
import { createReadClaim, type Held, nobody } from './claim.ts';
import { presentedClient } from './client.ts';
import type { TokenDeps } from './feature.ts';
import { createSettle, type Decision, type Grant } from './outcome.ts';
import { type AccessTokenResponse, TokenRequest } from './schema.ts';
import type { Standing } from './store.ts';

export interface TokenAsked {
  readonly form: TokenRequest;
  readonly query: object;
  readonly authorization: string | string[] | undefined;
  readonly origin: Origin;
  countAgainst(subject: { clientId: string } | 'address'): Promise<void>;
}

export interface TokenService {
  issue(asked: TokenAsked): Promise<AccessTokenResponse>;
}

export function createTokenService(deps: TokenDeps): TokenService {
  const { clock, ids, metrics, signer, issuer } = deps;
  const readClaim = createReadClaim(deps);
  const settle = createSettle<AccessTokenResponse>(deps);

  const refusal = (
    { origin }: TokenAsked,
    { agentId, organizationId }: Pick<Standing, 'agentId' | 'organizationId'>,
    code: TokenErrorCode,
    reason: string,
    description = reason,
    more: Record<string, unknown> = {},
  ): Decision<never> => ({
    entry: {
      actor: origin,
      type: 'token.refused',
      subject: { organizationId, agentId, outcome: 'failure', metadata: { reason, ...more } },
    },
    outcome: unwatched(Promise.reject(new TokenError(code, description))),
  });

  const grant = (
    asked: TokenAsked,
    client: Standing,
    audience: string,
    scope: string,
  ): Grant<AccessTokenResponse> => ({
    client,
    granted: () => issue(asked, client, audience, scope),
    refused: ({ description, limitType, limit, resetsAt }) =>
      refusal(asked, client, 'unauthorized_client', `${limitType} reached`, description, {
        limitType,
        limit,
        resetsAt,
      }),
  });

  const issue = (asked: TokenAsked, client: Standing, audience: string, scope: string) => {
    const { agentId, organizationId } = client;
    // Its time, to the millisecond, tells whether the token is from before a suspension; `iat` counts seconds only.
    const tokenId = ids.orderedAt(clock.now());
    const metadata = { tokenId, scope, audience, expiresIn: limits.accessTokenSeconds };
    return {
      entry: {
        actor: asked.origin,
        type: 'token.issued',
        subject: { organizationId, agentId, metadata },
      },
      // Signed while the record is being written; handed out when it has been.
      outcome: unwatched(answer(sign(client, audience, scope, tokenId), scope)),
    } as const;
  };

  const sign = (client: Standing, audience: string, scope: string, tokenId: string) => {
    const issuedAt = Math.floor(clock.now() / 1000);
    return signer.sign(
      {
        aud: audience,
        sub: client.agentId,
        client_id: client.agentId,
        scope,
        organization_id: client.organizationId,
        iat: issuedAt,
        exp: issuedAt + limits.accessTokenSeconds,
        jti: tokenId,
      },
      'at+jwt',
    );
  };

  const decide = async (
    asked: TokenAsked,
    audience: string,
    claimed: string,
    { standing, failure }: Held,
  ): Promise<Decision<AccessTokenResponse> | Grant<AccessTokenResponse>> => {
    if (!standing || failure !== undefined) {
      await asked.countAgainst('address');
      const claimedAgent = standing ?? { agentId: claimed, organizationId: nobody };
      return refusal(asked, claimedAgent, 'invalid_client', failure ?? 'unknown');
    }
    await asked.countAgainst({ clientId: standing.agentId });
    const problem = standingProblem(standing);
    if (problem !== undefined) return refusal(asked, standing, 'unauthorized_client', problem);
    const allowed = scopes.filter((scope) => standing.allowedScopes.includes(scope));
    const granted = grantedScopes(asked.form.scope, allowed);
    if (!granted) {
      const description = `invalid scope: this agent may hold ${allowed.join(' ') || 'none'}`;
      return refusal(asked, standing, 'unsupported_grant_type', 'scope not allowed', description);
    }
    return grant(asked, standing, audience, granted.join(' '));
  };

  return {
    async issue(asked) {
      refuseFieldsInAddress(asked.query);
      requireGrantType(asked.form.grant_type);
      const audience = audienceOf(asked.form.resource, issuer);
      const claim = await readClaim(presentedClient(asked.form, asked.authorization));
      const issued = await settle({
        claim,
        decide: (held) => decide(asked, audience, claim.agentId, held),
      });
      metrics.count('service_tokens_issued_total', { scope: issued.scope });
      return issued;
    },
  };
}

/** Nobody looks at it before the record is durable, and perhaps nobody ever. */
function unwatched<T>(outcome: Promise<T>): Promise<T> {
  outcome.catch(() => {});
  return outcome;
}

async function answer(signing: Promise<string>, scope: string): Promise<AccessTokenResponse> {
  return {
    access_token: await signing,
    token_type: 'Bearer',
    expires_in: limits.accessTokenSeconds,
    scope,
  };
}

/** All that the agent may hold when none is named; undefined when one is asked that it may not. */
function grantedScopes(asked: string | undefined, allowed: readonly Scope[]): readonly Scope[] | undefined {
  const words = (asked ?? '').split(' ').filter(Boolean);
  if (words.length === 0) return allowed;
  if (words.some((word) => !isScope(word) || !allowed.includes(word))) return undefined;
  return allowed.filter((scope) => words.includes(scope));
}

function standingProblem({ agentStatus, organizationStatus }: Standing): string | undefined {
  if (agentStatus !== 'active') return `the agent is ${agentStatus}`;
  return organizationStatus === 'active' ? undefined : `the organization is ${organizationStatus}`;
}

/** Addresses end up in logs, and a `scope` there would be overlooked: refused even beside a good body. */
function refuseFieldsInAddress(query: object): void {
  for (const name of Object.keys(TokenRequest.properties)) {
    if (name in query) failToken('unsupported_grant_type', `${name} belongs in the body, not in the address`);
  }
}

function requireGrantType(grantType: string | undefined): void {
  if (grantType === 'client_credentials') return;
  failToken(
    'unsupported_grant_type',
    grantType === undefined
      ? 'grant_type is required and must be client_credentials'
      : 'grant_type must be client_credentials',
  );
}

/**
 * RFC 8707 §2: an absolute URI without a fragment, kept as it was written; our own address in any spelling is us.
 * Credentials in one would end up in every token.
 */
function audienceOf(resource: string | undefined, issuer: string): string {
  if (resource === undefined) return issuer;
  const url =
    /^https?:\/\/[\w.[\]:-]+(?:[/?][!-~]*)?$/i.test(resource) && URL.canParse(resource)
      ? new URL(resource)
      : undefined;
  if (!url || url.username || url.password || /[\\#]/.test(resource)) {
    return failToken('unsupported_grant_type', 'resource must be an absolute http(s) URI without a fragment');
  }
  return url.href === new URL(issuer).href ? issuer : resource;
}
