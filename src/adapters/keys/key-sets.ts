/**
 * A cache of other issuers' key sets, fetched through the guarded outbound client. However many tokens arrive, an issuer gets at most
 * one request per cool-down for keys that it may have added, and retries with exponential backoff while it fails. Concurrent callers
 * share one request (single flight). Each process has its own cache. Ours instead of jose's remote key sets, which keep no keys while an
 * issuer fails, and do not wait longer after each failure.
 */

import type { KeyObject } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/observability/log.ts';
import type { KeySource } from '../../kernel/ports/external-tokens.ts';
import { type Outbound, OutboundProblem } from '../../kernel/ports/outbound.ts';
import { urlProblem } from '../../kernel/url-problem.ts';
import { type ExternalKey, pickKey, readKeySet } from './external-keys.ts';

/** Bounds for `max-age` of `Cache-Control`, and the default without it. */
const maxAgeMs = { min: 60_000, default: 600_000, max: 3_600_000 };
/** While the issuer fails, its last keys stay valid for this much longer. */
const staleMs = 3_600_000;
const coolDownMs = 30_000;
const backoffMs = { first: 5_000, max: 60_000 };
const requestTimeoutMs = 5_000;
const maxBytes = 256 * 1024;
/** Limits of the cache: issuers, and keys of all issuers together. */
const maxSources = 1_000;
const maxCachedKeys = 5_000;

interface KeyQuery {
  readonly algorithm: string;
  readonly keyId: string | undefined;
}

export interface KeySets {
  find(source: KeySource, query: KeyQuery): Promise<KeyObject | 'unknown_key' | 'keys_unavailable'>;
}

interface KeySetDeps {
  readonly outbound: Outbound;
  readonly clock: Clock;
  readonly log: Log;
  /** Allows plain http, for issuers inside the operator's own network. */
  readonly allowHttp: boolean;
}

interface CachedKeySet {
  keys: readonly ExternalKey[];
  freshUntil: number;
  requestedAt: number;
  failures: number;
  request?: Promise<void> | undefined;
}

export function createKeySets({ outbound, clock, log, allowHttp }: KeySetDeps): KeySets {
  const sources = new Map<string, CachedKeySet>();

  const touch = (name: string): CachedKeySet => {
    const cached = sources.get(name) ?? { keys: [], freshUntil: 0, requestedAt: -Infinity, failures: 0 };
    // Moves the entry to the end of the Map: the first entry is the least recently used.
    sources.delete(name);
    sources.set(name, cached);
    return cached;
  };

  const evict = () => {
    let keys = 0;
    for (const source of sources.values()) keys += source.keys.length;
    for (const [name, source] of sources) {
      if (sources.size <= maxSources && keys <= maxCachedKeys) return;
      if (source.request) continue;
      sources.delete(name);
      keys -= source.keys.length;
    }
  };

  const getJson = async (url: string): Promise<{ body: Buffer; freshForMs: number }> => {
    const { status, headers, body } = await outbound.send({
      method: 'GET',
      url,
      headers: { accept: 'application/json' },
      timeoutMs: requestTimeoutMs,
      maxBytes,
    });
    if (status !== 200) throw new Error(`${url} answered ${status}`);
    return { body, freshForMs: freshFor(headers['cache-control']) };
  };

  /** OpenID Connect Discovery §4.3: the document must name the issuer that it was fetched from. */
  const discover = async (issuer: string): Promise<string> => {
    const { body } = await getJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
    const document = (JSON.parse(body.toString('utf8')) ?? {}) as Record<string, unknown>;
    if (document.issuer !== issuer) throw new Error('its discovery document names another issuer');
    const { jwks_uri: jwksUri } = document;
    const problem =
      typeof jwksUri === 'string' ? urlProblem(jwksUri, { allowHttp, allowQuery: true }) : 'is not there';
    if (problem !== undefined) throw new Error(`jwks_uri in its discovery document ${problem}`);
    return jwksUri as string;
  };

  const fetchInto = async ({ issuer, jwksUri }: KeySource, into: CachedKeySet) => {
    try {
      const { body, freshForMs } = await getJson(jwksUri ?? (await discover(issuer)));
      const keys = readKeySet(body);
      if (keys.length === 0) throw new Error('it has no usable key');
      Object.assign(into, { keys, failures: 0, freshUntil: clock.now() + freshForMs });
    } catch (error) {
      into.failures += 1;
      // The backoff begins now, after a slow failure too.
      into.requestedAt = clock.now();
      const problem = error instanceof OutboundProblem ? error.detail : (error as Error).message;
      log.warn(
        { issuer, problem },
        "an issuer's key set could not be fetched; its last keys stay in use for an hour",
      );
    }
  };

  const refresh = (source: KeySource, cached: CachedKeySet): Promise<void> => {
    cached.requestedAt = clock.now();
    cached.request = fetchInto(source, cached).finally(() => {
      cached.request = undefined;
      evict();
    });
    return cached.request;
  };

  const mayRequest = ({ requestedAt, failures, freshUntil }: CachedKeySet, now: number): boolean => {
    const backoff = failures > 0 ? Math.min(backoffMs.max, backoffMs.first * 2 ** (failures - 1)) : 0;
    return now >= requestedAt + (now < freshUntil ? Math.max(coolDownMs, backoff) : backoff);
  };

  return {
    async find(source, query) {
      const cached = touch(JSON.stringify([source.issuer, source.jwksUri]));
      const now = clock.now();
      const key = now < cached.freshUntil ? pickKey(cached.keys, query) : undefined;
      if (key) return key;
      if (cached.request) await cached.request;
      else if (mayRequest(cached, now)) await refresh(source, cached);
      if (cached.keys.length === 0 || clock.now() >= cached.freshUntil + staleMs) return 'keys_unavailable';
      return pickKey(cached.keys, query) ?? 'unknown_key';
    },
  };
}

function freshFor(cacheControl: string | string[] | undefined): number {
  const directives = String(cacheControl ?? '').toLowerCase();
  if (/\bno-(store|cache)\b/.test(directives)) return maxAgeMs.min;
  const [, seconds] = /(?:^|[\s,])max-age="?(\d{1,10})/.exec(directives) ?? [];
  const requested = seconds === undefined ? maxAgeMs.default : Number(seconds) * 1000;
  return Math.min(maxAgeMs.max, Math.max(maxAgeMs.min, requested));
}
