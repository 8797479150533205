/**
 * Access tokens by key. A token is replaced when about 80 % of its lifetime have passed. Callers that need a new token at the same time
 * share one request. A failed request is not cached, and a caller that gives up does not end the request of the others.
 */
import { ApiError, ConnectionError } from './errors.ts';
import { type Platform, unlessAborted } from './platform.ts';
import type { AuthorizationDetail } from './verify/access-token.ts';

export interface IssuedToken {
  readonly accessToken: string;
  /** From the time of the request. */
  readonly lifetimeSeconds: number;
  readonly scope: string;
  /** Of a person's token. */
  readonly refreshToken?: string;
  /** What exactly the person approved. */
  readonly authorizationDetails?: readonly AuthorizationDetail[];
}

export interface CachedToken extends IssuedToken {
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

export interface TokenCache {
  /** `issue` gets `hasToken`: a current token exists, so that a failure does no harm now. */
  get(key: string, issue: Issue, signal?: AbortSignal): Promise<CachedToken>;
  /** Forgets this token, if the cache still has it. */
  invalidate(key: string, accessToken: string): void;
}

export type Issue = (hasToken: boolean) => Promise<IssuedToken>;

interface Entry {
  token?: CachedToken;
  refreshAt: number;
  flight?: Promise<CachedToken>;
}

/** Spread over a tenth of the lifetime, so that many processes do not ask at the same moment. */
const refreshShare = (random: number): number => 0.75 + random / 10;
/** A token this close to its end is not used: it has to arrive, and clocks differ. */
const minLeftMs = 5_000;
/** After a failed refresh, while the old token is still good. */
const refreshPauseMs = 10_000;
const maxEntries = 1_000;

export function createTokenCache({ now, random }: Platform): TokenCache {
  /** In the order of their last use. */
  const entries = new Map<string, Entry>();

  const touch = (key: string): Entry => {
    const entry = entries.get(key) ?? { refreshAt: 0 };
    entries.delete(key);
    entries.set(key, entry);
    if (entries.size > maxEntries) {
      const [oldest] = entries.keys();
      if (oldest !== undefined) entries.delete(oldest);
    }
    return entry;
  };

  const refresh = async (entry: Entry, issue: Issue): Promise<CachedToken> => {
    const askedAt = now();
    const current = entry.token && entry.token.expiresAt - askedAt > minLeftMs ? entry.token : undefined;
    try {
      const issued = await issue(current !== undefined);
      const lifetimeMs = issued.lifetimeSeconds * 1000;
      entry.token = { ...issued, expiresAt: askedAt + lifetimeMs };
      entry.refreshAt = askedAt + lifetimeMs * refreshShare(random());
      return entry.token;
    } catch (error) {
      // Invalidated during the request, or refused for good: the caller has to know.
      if (!current || entry.token !== current || !isTemporary(error)) throw error;
      entry.refreshAt = now() + refreshPauseMs;
      return current;
    }
  };

  return {
    async get(key, issue, signal) {
      signal?.throwIfAborted();
      const entry = touch(key);
      if (entry.token && now() < entry.refreshAt && entry.token.expiresAt - now() > minLeftMs)
        return entry.token;
      entry.flight ??= refresh(entry, issue).finally(() => {
        delete entry.flight;
      });
      return unlessAborted(signal, entry.flight);
    },

    invalidate(key, accessToken) {
      const entry = entries.get(key);
      if (entry?.token?.accessToken === accessToken) delete entry.token;
    },
  };
}

/** Another attempt later may succeed. */
export const isTemporary = (error: unknown): boolean =>
  error instanceof ConnectionError ||
  (error instanceof ApiError && (error.status === 429 || error.status >= 500));
