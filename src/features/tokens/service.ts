import type { TokenErrorCode } from '../../contract/errors.ts';
import { limits } from '../../contract/limits.ts';
import { isScope, type Scope, scopes } from '../../contract/scopes.ts';
import type { Origin } from '../../kernel/caller.ts';
import { failToken } from '../../kernel/fail.ts';
import { isUuid } from '../../kernel/ids.ts';
import { presentedClient } from './client.ts';
import type { TokenDeps } from './feature.ts';
import { createProve, nobody, type Proven } from './proof.ts';
import { type AccessTokenResponse, TokenRequest } from './schema.ts';
import { holdKeyHolder, type Standing } from './store.ts';

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
  const { db, clock, ids, ledger, metrics, signer, issuer } = deps;
  const prove = createProve(deps);

  const recordRefusal = (
    asked: TokenAsked,
    client: Standing | undefined,
    claimedId: string,
    reason: string,
  ) =>
    db.transaction((tx) =>
      ledger.record(tx, asked.origin, 'token.refused', {
        organizationId: client?.organizationId ?? nobody,
        agentId: client?.agentId ?? (isUuid(claimedId) ? claimedId.toLowerCase() : nobody),
        outcome: 'failure',
        metadata: { reason },
      }),
    );

  const authenticate = async (asked: TokenAsked): Promise<Proven> => {
    const proof = await prove(presentedClient(asked.form, asked.authorization));
    if ('lostBy' in proof) {
      await asked.countAgainst({ clientId: proof.standing.agentId });
      return proof;
    }
    await asked.countAgainst('address');
    await recordRefusal(asked, proof.standing, proof.claimedId, proof.reason);
    return failToken('invalid_client', proof.reason);
  };

  const requireStanding = async (asked: TokenAsked, client: Standing) => {
    const reason = standingProblem(client);
    if (reason !== undefined) await refuse(asked, client, 'unauthorized_client', reason);
  };

  const refuse = async (asked: TokenAsked, client: Standing, code: TokenErrorCode, reason: string) => {
    await recordRefusal(asked, client, client.agentId, reason);
    failToken(code, reason);
  };

  /** Looks once more, under lock, and records the token: what was changed meanwhile has come first. */
  const record = (asked: TokenAsked, { standing, lostBy }: Proven, issued: Issued) =>
    db.transaction(async (tx): Promise<[TokenErrorCode, string] | undefined> => {
      const now = await holdKeyHolder(tx, standing.agentId);
      const problem = now && standingProblem(now);
      if (!now || problem !== undefined) return ['unauthorized_client', problem ?? 'the agent is gone'];
      const lost = await lostBy(tx, now);
      if (lost !== undefined) return ['invalid_client', lost];
      const { tokenId, scope, audience } = issued;
      await ledger.record(tx, asked.origin, 'token.issued', {
        organizationId: standing.organizationId,
        agentId: standing.agentId,
        metadata: { tokenId, scope, audience, expiresIn: limits.accessTokenSeconds },
      });
      tx.afterCommit(() => metrics.count('service_tokens_issued_total', { scope }));
      return undefined;
    });

  const grantedScopes = async (asked: TokenAsked, client: Standing): Promise<Scope[]> => {
    const allowed = scopes.filter((scope) => client.allowedScopes.includes(scope));
    const words = (asked.form.scope ?? '').split(' ').filter(Boolean);
    if (words.length === 0) return allowed;
    const refused = words.filter((word) => !isScope(word) || !allowed.includes(word));
    if (refused.length > 0) {
      await recordRefusal(asked, client, client.agentId, 'scope not allowed');
      failToken(
        'unsupported_grant_type',
        `invalid scope: this agent may hold ${allowed.join(' ') || 'none'}`,
      );
    }
    return allowed.filter((scope) => words.includes(scope));
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

  return {
    async issue(asked) {
      refuseFieldsInAddress(asked.query);
      requireGrantType(asked.form.grant_type);
      const audience = audienceOf(asked.form.resource, issuer);
      const proven = await authenticate(asked);
      const client = proven.standing;
      await requireStanding(asked, client);
      const scope = (await grantedScopes(asked, client)).join(' ');
      // Its time, to the millisecond, tells whether the token is from before a suspension; `iat` counts seconds only.
      const tokenId = ids.orderedAt(clock.now());
      const accessToken = await sign(client, audience, scope, tokenId);
      const lost = await record(asked, proven, { tokenId, scope, audience });
      if (lost) await refuse(asked, client, ...lost);
      return {
        access_token: accessToken,
        token_type: 'Bearer',
        expires_in: limits.accessTokenSeconds,
        scope,
      };
    },
  };
}

interface Issued {
  readonly tokenId: string;
  readonly scope: string;
  readonly audience: string;
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
