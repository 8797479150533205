/** The public keys of an issuer: cached, refreshed in the background, and good for a day if the issuer cannot be reached. */
import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose';
import type { Platform } from '../platform.ts';
import { readJson } from '../response.ts';

/** The keys are needed and cannot be fetched. */
export class KeysUnavailable extends Error {}

const refreshMs = 10 * 60_000;
/** Between two requests for keys, whether the first succeeded or not. */
const coolDownMs = 30_000;
const maxStaleMs = 24 * 3_600_000;
const maxAnswerBytes = 256 * 1024;
const maxKeys = 100;

export function createKeySet(url: URL, { fetch, now }: Pick<Platform, 'fetch' | 'now'>): JWTVerifyGetKey {
  // Fetches when there are no keys yet; from then on, this file decides.
  const keys = createRemoteJWKSet(url, {
    cacheMaxAge: Number.POSITIVE_INFINITY,
    cooldownDuration: Number.POSITIVE_INFINITY,
    [customFetch]: async (address, init) => {
      const response = await fetch(address, init);
      return response.status === 200 ? Response.json(await readKeys(response)) : response;
    },
  });
  let loadedAt = Number.NEGATIVE_INFINITY;
  let askedAt = Number.NEGATIVE_INFINITY;
  let failure: unknown;

  const load = async (): Promise<void> => {
    askedAt = now();
    try {
      await keys.reload();
      loadedAt = now();
      failure = undefined;
    } catch (error) {
      failure = error;
      throw unavailable();
    }
  };
  const unavailable = () =>
    new KeysUnavailable(`the keys of ${url.origin} cannot be fetched`, { cause: failure });
  const isCoolingDown = () => now() - askedAt < coolDownMs;

  return async (header, token) => {
    const age = now() - loadedAt;
    if (age >= maxStaleMs) {
      // Concurrent calls share a request.
      if (isCoolingDown() && !keys.reloading) throw unavailable();
      await load();
    } else if (age >= refreshMs && !isCoolingDown()) load().catch(() => {});
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      // The key may be a new one, unless the keys were fetched a moment ago. Concurrent calls share a request.
      if (keys.reloading || !isCoolingDown()) await load();
      else if (failure !== undefined)
        throw new KeysUnavailable('the key is unknown, and newer keys cannot be fetched', { cause: failure });
      else throw error;
      return keys(header, token);
    }
  };
}

/** `jose` would read an answer of any size. */
async function readKeys(response: Response): Promise<object> {
  const answer = (await readJson(response, maxAnswerBytes)) as { readonly keys?: unknown } | null | undefined;
  if (!Array.isArray(answer?.keys)) throw new Error('the answer is not a key set');
  if (answer.keys.length > maxKeys) throw new Error(`the key set has more than ${maxKeys} keys`);
  return { keys: answer.keys };
}
