import type { TokenErrorCode } from '../../contract/errors.ts';
import { limits } from '../../contract/limits.ts';
import { isScope, type Scope, scopes } from '../../contract/scopes.ts';
import type { Origin } from '../../kernel/caller.ts';
import { failToken } from '../../kernel/fail.ts';
import { isUuid } from '../../kernel/ids.ts';
import { presentedClient } from './client.ts';
import type { TokenDeps } from './feature.ts';
import { createProve, nobody, type Proven } from './proof.ts';
import { createRecordOutcome, standingProblem } from './recording.ts';
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
  const prove = createProve(deps);
  const recordOutcome = createRecordOutcome(deps);

  const recordRefusal = (
    asked: TokenAsked,
    client: Standing | undefined,
    claimedId: string,
    reason: string,
  ) =>
    recordOutcome({
      entry: {
        actor: asked.origin,
        type: 'token.refused',
        subject: {
          organizationId: client?.organizationId ?? nobody,
          agentId: client?.agentId ?? (isUuid(claimedId) ? claimedId.toLowerCase() : nobody),
          outcome: 'failure',
          metadata: { reason },
        },
      },
    });

  const authenticate = async (asked: TokenAsked): Promise<Proven> => {
    const proof = await prove(presentedClient(asked.form, asked.authorization));
    if ('proof' in proof) {
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

  const recordIssue = async (asked: TokenAsked, granted: Proven, issued: Issued) => {
    const { tokenId, scope, audience } = issued;
    const { organizationId, agentId } = granted.standing;
    const metadata = { tokenId, scope, audience, expiresIn: limits.accessTokenSeconds };
    const lost = await recordOutcome({
      entry: {
        actor: asked.origin,
        type: 'token.issued',
        subject: { organizationId, agentId, metadata },
      },
      granted,
    });
    if (lost) await refuse(asked, granted.standing, ...lost);
    metrics.count('service_tokens_issued_total', { scope });
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
      const audience = audienceOf(asked.form.resource, issuer);
      const proven = await authenticate(asked);
      const client = proven.standing;
      await requireStanding(asked, client);
      const scope = (await grantedScopes(asked, client)).join(' ');
      // Its time, to the millisecond, tells whether the token is from before a suspension; `iat` counts seconds only.
      const tokenId = ids.orderedAt(clock.now());
      // At the same time: a token whose record fails or comes too late is never handed out.
      const [accessToken] = await Promise.all([
        sign(client, audience, scope, tokenId),
        recordIssue(asked, proven, { tokenId, scope, audience }),
      ]);
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
