/**
 * Key sets of other issuers, fetched through the guarded client and remembered. However many tokens are shown to us, an
 * issuer is asked at most once in a cool-down for keys it may have added, and while it fails, at growing intervals; all
 * who wait share one errand. Every process remembers for itself.
 */
import type { KeyObject } from 'node:crypto';
import type { Clock } from '../../kernel/clock.ts';
import type { Log } from '../../kernel/observability/log.ts';
import { type KeySource, urlProblem } from '../../kernel/ports/external-tokens.ts';
import { type Outbound, OutboundProblem } from '../../kernel/ports/outbound.ts';
import { type OutsideKey, pickKey, readKeySet } from './external-keys.ts';

/** What `Cache-Control` asks for is respected within these; nothing said means `usual`. */
const freshMs = { least: 60_000, usual: 600_000, most: 3_600_000 };
/** While the issuer cannot be asked, its last keys are believed for so much longer. */
const staleMs = 3_600_000;
const coolDownMs = 30_000;
const backOffMs = { first: 5_000, most: 60_000 };
const timeoutMs = 5_000;
const maxBytes = 256 * 1024;
/** How many issuers are remembered, and how many keys of theirs all together. */
const maxSources = 1_000;
const maxKeysInAll = 5_000;

export interface Wanted {
  readonly algorithm: string;
  readonly keyId: string | undefined;
}

export interface KeySets {
  find(source: KeySource, wanted: Wanted): Promise<KeyObject | 'unknown_key' | 'keys_unavailable'>;
}

export interface KeySetDeps {
  readonly outbound: Outbound;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether plain http will do: inside the operator's own network. */
  readonly allowHttp: boolean;
}

interface Remembered {
  keys: readonly OutsideKey[];
  freshUntil: number;
  askedAt: number;
  failures: number;
  asking?: Promise<void> | undefined;
}

export function createKeySets({ outbound, clock, log, allowHttp }: KeySetDeps): KeySets {
  const sources = new Map<string, Remembered>();

  const remembered = (name: string): Remembered => {
    const known = sources.get(name) ?? { keys: [], freshUntil: 0, askedAt: -Infinity, failures: 0 };
    // At the end, so that whoever was not asked for the longest time comes first and is forgotten first.
    sources.delete(name);
    sources.set(name, known);
    return known;
  };

  const forgetSome = () => {
    let keys = 0;
    for (const source of sources.values()) keys += source.keys.length;
    for (const [name, source] of sources) {
      if (sources.size <= maxSources && keys <= maxKeysInAll) return;
      if (source.asking) continue;
      sources.delete(name);
      keys -= source.keys.length;
    }
  };

  const getJson = async (url: string): Promise<{ body: Buffer; freshForMs: number }> => {
    const { status, headers, body } = await outbound.send({
      method: 'GET',
      url,
      headers: { accept: 'application/json' },
      timeoutMs,
      maxBytes,
    });
    if (status !== 200) throw new Error(`${url} answered ${status}`);
    return { body, freshForMs: freshFor(headers['cache-control']) };
  };

  /** OpenID Connect Discovery §4.3: a document that names another issuer speaks for somebody else. */
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

  const ask = async ({ issuer, jwksUri }: KeySource, into: Remembered) => {
    try {
      const { body, freshForMs } = await getJson(jwksUri ?? (await discover(issuer)));
      const keys = readKeySet(body);
      if (keys.length === 0) throw new Error('it holds no key that can be used');
      Object.assign(into, { keys, failures: 0, freshUntil: clock.now() + freshForMs });
    } catch (error) {
      into.failures += 1;
      // One that keeps us waiting is left alone as long as one that refuses at once.
      into.askedAt = clock.now();
      const problem = error instanceof OutboundProblem ? error.detail : (error as Error).message;
      log.warn({ issuer, problem }, "an issuer's key set could not be read");
    }
  };

  const refresh = (source: KeySource, known: Remembered): Promise<void> => {
    known.askedAt = clock.now();
    known.asking = ask(source, known).finally(() => {
      known.asking = undefined;
      forgetSome();
    });
    return known.asking;
  };

  const mayAsk = ({ askedAt, failures, freshUntil }: Remembered, now: number): boolean => {
    const backOff = failures > 0 ? Math.min(backOffMs.most, backOffMs.first * 2 ** (failures - 1)) : 0;
    return now >= askedAt + (now < freshUntil ? Math.max(coolDownMs, backOff) : backOff);
  };

  return {
    async find(source, wanted) {
      const known = remembered(JSON.stringify([source.issuer, source.jwksUri]));
      const now = clock.now();
      const key = now < known.freshUntil ? pickKey(known.keys, wanted) : undefined;
      if (key) return key;
      if (known.asking) await known.asking;
      else if (mayAsk(known, now)) await refresh(source, known);
      if (known.keys.length === 0 || clock.now() >= known.freshUntil + staleMs) return 'keys_unavailable';
      return pickKey(known.keys, wanted) ?? 'unknown_key';
    },
  };
}

function freshFor(cacheControl: string | string[] | undefined): number {
  const directives = String(cacheControl ?? '').toLowerCase();
  if (/\bno-(store|cache)\b/.test(directives)) return freshMs.least;
  const [, seconds] = /(?:^|[\s,])max-age="?(\d{1,10})/.exec(directives) ?? [];
  const asked = seconds === undefined ? freshMs.usual : Number(seconds) * 1000;
  return Math.min(freshMs.most, Math.max(freshMs.least, asked));
}
