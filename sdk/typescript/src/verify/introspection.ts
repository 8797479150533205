/** Asks the issuer whether a token still counts (RFC 7662): it sees revocation, suspension and narrowed grants at once. */
import { type Platform, unlessAborted } from '../platform.ts';
import { readJson } from '../response.ts';
import { type Stopwatch, startStopwatch } from '../stopwatch.ts';
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
  /** How long an answer counts, and how long callers join a question that is under way. 0: every call asks. */
  readonly cacheSeconds: number;
  readonly platform: Pick<Platform, 'now' | 'elapsed'>;
}

/** The scopes that the token has now; undefined when it does not count any more. Throws without a usable answer. */
export type Introspect = (token: string, tokenId: unknown) => Promise<readonly string[] | undefined>;

const timeoutMs = 5_000;
const maxAnswerBytes = 65_536;
const maxAsked = 10_000;

export function createIntrospection(options: IntrospectionOptions): Introspect {
  const { issuer, client, cacheSeconds, platform } = options;
  /** Questions that are under way or were answered, by `jti`, oldest first. Their age counts from the question. */
  const asked = new Map<string, { readonly age: Stopwatch; readonly answer: ReturnType<Introspect> }>();

  const ask: Introspect = async (token, tokenId) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const request = client.fetch(`${issuer}/api/v1/token/introspect`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: new URLSearchParams({ token }).toString(),
      scope: 'tokens:read',
      signal,
    });
    // Also if the fetch of the program does not look at the signal.
    const response = await unlessAborted(signal, request);
    const answer = await unlessAborted(signal, readJson(response, maxAnswerBytes));
    if (response.status !== 200)
      throw new Error(`introspection answered ${response.status}; the agent needs the scope tokens:read`);
    const { active, scope, jti } = answer as { active?: unknown; scope?: unknown; jti?: unknown };
    if (active === true && typeof scope === 'string' && jti === tokenId) return splitScopes(scope);
    if (active === false) return undefined;
    throw new Error('introspection sent another answer than Countersign does');
  };

  return (token, tokenId) => {
    if (cacheSeconds === 0 || typeof tokenId !== 'string') return ask(token, tokenId);
    const earlier = asked.get(tokenId);
    if (earlier && earlier.age() < cacheSeconds * 1000) return earlier.answer;
    const question = { age: startStopwatch(platform), answer: ask(token, tokenId) };
    asked.delete(tokenId);
    asked.set(tokenId, question);
    const [oldest] = asked.keys();
    if (asked.size > maxAsked && oldest !== undefined) asked.delete(oldest);
    // A failure is not remembered.
    question.answer.catch(() => {
      if (asked.get(tokenId) === question) asked.delete(tokenId);
    });
    return question.answer;
  };
}
