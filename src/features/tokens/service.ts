import { limits } from '../../contract/limits.ts';
import { isScope, type Scope, scopes } from '../../contract/scopes.ts';
import type { Origin } from '../../kernel/caller.ts';
import { failToken } from '../../kernel/fail.ts';
import { isUuid } from '../../kernel/ids.ts';
import { presentedClient } from './client.ts';
import type { TokenDeps } from './feature.ts';
import { createProve, nobody, type Proven } from './proof.ts';
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
    if ('hold' in proof) {
      await asked.countAgainst({ clientId: proof.standing.agentId });
      return proof;
    }
    await asked.countAgainst('address');
    await recordRefusal(asked, proof.standing, proof.claimedId, proof.reason);
    return failToken('invalid_client', proof.reason);
  };

  const requireStanding = async (asked: TokenAsked, client: Standing) => {
    const reason =
      client.agentStatus !== 'active'
        ? `the agent is ${client.agentStatus}`
        : client.organizationStatus !== 'active'
          ? `the organization is ${client.organizationStatus}`
          : undefined;
    if (reason === undefined) return;
    await recordRefusal(asked, client, client.agentId, reason);
    failToken('unauthorized_client', reason);
  };

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
      const audience = audienceOf(asked.form.resource) ?? issuer;
      const proven = await authenticate(asked);
      const client = proven.standing;
      await requireStanding(asked, client);
      const scope = (await grantedScopes(asked, client)).join(' ');
      // Its time, to the millisecond, tells whether the token is from before a suspension; `iat` counts seconds only.
      const tokenId = ids.orderedAt(clock.now());
      const accessToken = await sign(client, audience, scope, tokenId);
      await db.transaction(async (tx) => {
        if (!(await proven.hold(tx))) failToken('invalid_client', 'the proof holds no longer');
        await ledger.record(tx, asked.origin, 'token.issued', {
          organizationId: client.organizationId,
          agentId: client.agentId,
          metadata: { tokenId, scope, audience, expiresIn: limits.accessTokenSeconds },
        });
        tx.afterCommit(() => metrics.count('service_tokens_issued_total', { scope }));
      });
      return {
        access_token: accessToken,
        token_type: 'Bearer',
        expires_in: limits.accessTokenSeconds,
        scope,
      };
    },
  };
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

/** RFC 8707 §2: an absolute URI without a fragment. Credentials in one would end up in every token. */
function audienceOf(resource: string | undefined): string | undefined {
  if (resource === undefined) return undefined;
  const url = URL.canParse(resource) ? new URL(resource) : undefined;
  if (
    !url ||
    !/^https?:$/.test(url.protocol) ||
    url.hash ||
    resource.includes('#') ||
    url.username ||
    url.password
  ) {
    failToken('unsupported_grant_type', 'resource must be an absolute http(s) URI without a fragment');
  }
  return resource;
}
