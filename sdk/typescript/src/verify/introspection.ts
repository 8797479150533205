/** Asks the issuer whether a token still counts (RFC 7662): it sees revocation, suspension and narrowed grants at once. */
import type { Platform } from '../platform.ts';
import { readJson } from '../response.ts';
import { splitScopes } from './access-token.ts';

/** A client of this SDK; its agent needs the scope `tokens:read`. Or any fetch that authenticates. */
export interface IntrospectionClient {
  fetch(
    url: string,
    init: {
      readonly method: 'POST';
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
      readonly scope: string;
      readonly signal: AbortSignal;
    },
  ): Promise<Response>;
}

export interface IntrospectionOptions {
  readonly issuer: string;
  readonly client: IntrospectionClient;
  /** How long an answer counts. 0: every call asks. */
  readonly cacheSeconds: number;
  readonly platform: Pick<Platform, 'now'>;
}

/** The scopes that the token has now; undefined when it does not count any more. Throws without a usable answer. */
export type Introspect = (token: string, tokenId: unknown) => Promise<readonly string[] | undefined>;

const timeoutMs = 5_000;
const maxAnswerBytes = 65_536;
const maxCached = 10_000;

export function createIntrospection(options: IntrospectionOptions): Introspect {
  const { issuer, client, cacheSeconds, platform } = options;
  /** By `jti`, oldest first. Only tokens that count are cached. */
  const cache = new Map<string, { readonly until: number; readonly scopes: readonly string[] }>();

  const ask = async (token: string): Promise<readonly string[] | undefined> => {
    const response = await client.fetch(`${issuer}/api/v1/token/introspect`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: new URLSearchParams({ token }).toString(),
      scope: 'tokens:read',
      signal: AbortSignal.timeout(timeoutMs),
    });
    const answer = await readJson(response, maxAnswerBytes);
    if (response.status !== 200)
      throw new Error(`introspection answered ${response.status}; the agent needs the scope tokens:read`);
    const { active, scope } = answer as { active?: unknown; scope?: unknown };
    if (active === true && typeof scope === 'string') return splitScopes(scope);
    if (active === false) return undefined;
    throw new Error('introspection sent another answer than Countersign does');
  };

  return async (token, tokenId) => {
    const now = platform.now();
    const cached = typeof tokenId === 'string' ? cache.get(tokenId) : undefined;
    if (cached && now < cached.until) return cached.scopes;
    const scopes = await ask(token);
    if (cacheSeconds > 0 && typeof tokenId === 'string') {
      cache.delete(tokenId);
      if (scopes) cache.set(tokenId, { until: now + cacheSeconds * 1000, scopes });
      if (cache.size > maxCached) cache.delete(cache.keys().next().value as string);
    }
    return scopes;
  };
}
