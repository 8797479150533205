import { setTimeout as delay } from 'node:timers/promises';

/** A token this close to its end is renewed before it is used. */
const renewalMarginMs = 60_000;
/** A rate window lasts a minute. A longer Retry-After means that the quota of the day is used up. */
const longestWaitMs = 65_000;
const requestTimeoutMs = 10_000;
const attempts = 4;

export interface ClientOptions {
  readonly apiUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly now?: () => number;
  readonly sleep?: (ms: number) => Promise<unknown>;
}

export class ApiError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(`${status} ${code}: ${message}`);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
  }
}

interface Token {
  readonly value: string;
  readonly expiresAt: number;
}

/** Calls the API with an access token that is fetched when first needed, kept, and renewed before it expires. */
export class Client {
  readonly #options: Required<ClientOptions>;
  #token: Token | undefined;
  #renewal: Promise<Token> | undefined;

  constructor(options: ClientOptions) {
    this.#options = { now: Date.now, sleep: delay, ...options };
  }

  /** A token that is good for another minute at least; callers that need a new one at the same time share one request. */
  async token(): Promise<string> {
    if (this.#token && this.#token.expiresAt - this.#options.now() > renewalMarginMs) {
      return this.#token.value;
    }
    this.#renewal ??= this.#requestToken().finally(() => {
      this.#renewal = undefined;
    });
    this.#token = await this.#renewal;
    return this.#token.value;
  }

  get<T>(path: string): Promise<T> {
    return this.request<T>('GET', path);
  }

  /** `path` is relative to /api/v1. A refused token is replaced once; a full rate window is waited out. */
  async request<T>(method: string, path: string, body?: unknown): Promise<T> {
    let renewed = false;
    for (;;) {
      const token = await this.token();
      const response = await this.#send(path, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      if (response.status === 401 && !renewed) {
        renewed = true;
        if (this.#token?.value === token) this.#token = undefined;
        continue;
      }
      return (await answerOf(response)) as T;
    }
  }

  async #requestToken(): Promise<Token> {
    const { clientId, clientSecret, now } = this.#options;
    const asked = now();
    const response = await this.#send('/token', {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
      }),
    });
    const answer = (await answerOf(response)) as { access_token: string; expires_in: number };
    return { value: answer.access_token, expiresAt: asked + answer.expires_in * 1000 };
  }

  async #send(path: string, init: RequestInit): Promise<Response> {
    const { apiUrl, sleep } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      const response = await fetch(`${apiUrl}/api/v1${path}`, {
        ...init,
        redirect: 'error',
        signal: AbortSignal.timeout(requestTimeoutMs),
      });
      const wait = response.status === 429 ? this.#waitAfter(response.headers) : undefined;
      if (wait === undefined || wait > longestWaitMs || attempt === attempts) return response;
      await response.body?.cancel();
      await sleep(wait);
    }
  }

  #waitAfter(headers: Headers): number {
    const reset = Number(headers.get('x-ratelimit-reset')) * 1000 - this.#options.now();
    const retryAfter = Number(headers.get('retry-after')) * 1000;
    return Math.max(retryAfter || reset || 0, 1000);
  }
}

async function answerOf(response: Response): Promise<unknown> {
  const text = await response.text();
  if (response.ok) return text === '' ? undefined : JSON.parse(text);
  let answer: Record<string, string> = {};
  try {
    answer = JSON.parse(text);
  } catch {
    // Not from the API itself: a proxy, perhaps.
  }
  throw new ApiError(
    response.status,
    answer.code ?? answer.error ?? 'UNKNOWN',
    answer.message ?? answer.error_description ?? 'no explanation was given',
  );
}
