/**
 * `Idempotency-Key` for routes that create: the same key and request by the same proof of the same caller, within 24 hours, gets the
 * first response again and changes nothing. Failures are not remembered: the key can be used again.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../../../contract/limits.ts';
import type { Caller, IdempotencyKey } from '../../caller.ts';
import { fail } from '../../fail.ts';
import type { Log } from '../../observability/log.ts';
import type { RouteEntry } from '../route.ts';
import { validationError } from './validation.ts';

/** The first request with the key has committed while this one was running. Nothing of this one was changed. */
export class IdempotencyKeyTaken extends Error {}

interface UsedKey {
  readonly requestHash: Buffer;
  readonly createdId: string;
  /** The body as it was sent; undefined when it was not stored. */
  readonly response?: string;
  /** Committed a moment ago: its response may still be on its way to the store. */
  readonly recent: boolean;
}

export interface IdempotencyKeys {
  /** Undefined unless the key was used within its lifetime. */
  find(key: IdempotencyKey): Promise<UsedKey | undefined>;
  /** Stores the response after the commit. One that has a secret is stored only if it can be encrypted. */
  storeResponse(key: IdempotencyKey, response: string, options: { readonly secret: boolean }): Promise<void>;
}

const maxReads = 5;
const betweenReadsMs = 50;

export const idempotencyHeader = 'idempotency-key';
export const replayedHeader = 'idempotency-replayed';

export interface IdempotencyDeps {
  readonly idempotencyKeys: IdempotencyKeys;
  readonly log: Log;
}

interface IdempotentRequest {
  readonly entry: RouteEntry;
  readonly caller: Caller;
  readonly header: string | string[] | undefined;
  /** The path with its parameters, without a query. */
  readonly path: string;
  readonly body: unknown;
}

interface IdempotentWork<T> {
  /** Does the work as this caller, which carries the key to the ledger. */
  create(caller: Caller): Promise<T>;
  /** The response body as text. */
  serialize(result: T): string;
}

type IdempotentResult<T> = { readonly created: T } | { readonly replayed: string };

export type RunIdempotent = <T>(
  request: IdempotentRequest,
  work: IdempotentWork<T>,
) => Promise<IdempotentResult<T>>;

export function createIdempotent({ idempotencyKeys, log }: IdempotencyDeps): RunIdempotent {
  /** The usual retry arrives while the first request is running: it waits a moment for the response to be stored. */
  const find = async (key: IdempotencyKey): Promise<UsedKey | undefined> => {
    for (let attempt = 1; ; attempt++) {
      const used = await idempotencyKeys.find(key);
      if (!used || used.response !== undefined || !used.recent || attempt === maxReads) return used;
      await sleep(betweenReadsMs);
    }
  };

  const replay = (key: IdempotencyKey, used: UsedKey): { replayed: string } => {
    if (!used.requestHash.equals(key.requestHash)) fail('IDEMPOTENCY_KEY_MISMATCH');
    const { response, createdId } = used;
    if (response !== undefined) return { replayed: response };
    return fail('IDEMPOTENCY_KEY_REUSED', {
      message: `The request with this Idempotency-Key has created ${createdId}, and its response was not stored.`,
      details: { createdId },
    });
  };

  return async (request, { create, serialize }) => {
    const key = readKey(request);
    if (!key) return { created: await create(request.caller) };
    const used = await find(key);
    if (used) return replay(key, used);
    try {
      const created = await create({ ...request.caller, idempotencyKey: key });
      const secret = request.entry.idempotent?.secret ?? false;
      await idempotencyKeys
        .storeResponse(key, serialize(created), { secret })
        .catch((error) => log.warn({ err: error }, 'response not stored; a retry is answered without it'));
      return { created };
    } catch (error) {
      // The same key at the same moment: the other request has committed. A unique name may also have failed because of it.
      const winner = await find(key).catch(() => undefined);
      if (winner) return replay(key, winner);
      throw error instanceof IdempotencyKeyTaken
        ? new Error('an idempotency key vanished', { cause: error })
        : error;
    }
  };
}

function readKey({ entry, caller, header, path, body }: IdempotentRequest): IdempotencyKey | undefined {
  if (!entry.idempotent || header === undefined) return undefined;
  if (typeof header !== 'string' || !keyPattern.test(header)) {
    throw validationError('headers', [
      {
        in: 'headers',
        field: 'Idempotency-Key',
        message: `must be 1 to ${limits.idempotencyKeyLength} visible ASCII characters, for example a UUID`,
      },
    ]);
  }
  return {
    caller: callerKey(caller),
    keyHash: hash(header),
    requestHash: hash(`${entry.id} ${path} ${sortedJson(body)}`),
    event: entry.idempotent.event,
    idField: entry.idempotent.idField,
  };
}

/**
 * The same agent with another proof, with fewer scopes, by another delegation or for another person, is another caller: the response may
 * have a secret that this caller could not have asked for. A new token by the same proof is the same caller.
 */
function callerKey(caller: Caller): string {
  const { agentId, credentialId, keyId, trustPolicyId, sessionId, delegation, person, scopes } = caller;
  const proof = { credentialId, keyId, trustPolicyId, sessionId, personId: person?.personId };
  const power = { ...proof, chainIds: delegation?.chainIds, scopes: [...scopes].sort() };
  return `${agentId} ${hash(JSON.stringify(power)).toString('hex')}`;
}

const keyPattern = new RegExp(`^[!-~]{1,${limits.idempotencyKeyLength}}$`);

const hash = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The order of the fields does not matter. */
const sortedJson = (body: unknown): string =>
  JSON.stringify(body, (_, value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  ) ?? '';
