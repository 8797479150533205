/**
 * Idempotency keys: remembers for 24 hours which request created something, and its response. Owns `idempotency_keys`. The kernel reads the
 * header and repeats the response (kernel/http/input/idempotency.ts); a route opts in by its entry. The key is written by a ledger
 * listener, so that it commits with the change: a request that was killed half way has either created and used its key, or neither.
 */
import { idempotentEvents } from '../../contract/events.ts';
import { limits } from '../../contract/limits.ts';
import type { IdempotencyKey } from '../../kernel/caller.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import { deleteInChunks } from '../../kernel/data/delete-in-chunks.ts';
import { type Vault, VaultProblem } from '../../kernel/data/vault.ts';
import type { LedgerListener } from '../../kernel/domain-event.ts';
import { type IdempotencyKeys, IdempotencyKeyTaken } from '../../kernel/http/input/idempotency.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import { ownerOf } from './owner.ts';
import { deleteKeys, findKey, insertKey, updateResponse } from './store.ts';

export interface Idempotency {
  readonly keys: IdempotencyKeys;
  /** Writes the key in the transaction of the change. */
  readonly listener: LedgerListener;
  readonly loops: readonly Loop[];
}

export interface IdempotencyDeps extends Pick<SharedDeps, 'db' | 'clock' | 'log'> {
  readonly vault: Vault;
}

const recentMs = 5_000;
const lifetimeMs = limits.idempotencyHours * 3_600_000;

export function createIdempotency({ db, clock, log, vault }: IdempotencyDeps): Idempotency {
  const oldest = () => new Date(clock.now() - lifetimeMs);

  /** A response that was sealed with a key that is not configured counts as not stored. */
  const openResponse = (key: IdempotencyKey, sealed: string): string | undefined => {
    try {
      return vault.open(sealed, ownerOf(key));
    } catch (error) {
      if (!(error instanceof VaultProblem)) throw error;
      log.warn({ err: error }, 'stored response cannot be decrypted; it is not repeated');
      return undefined;
    }
  };

  return {
    keys: {
      async find(key) {
        const found = await findKey(db, key, oldest());
        if (!found) return undefined;
        const { requestHash, createdId, createdAt, response } = found;
        const opened = response === null ? undefined : openResponse(key, response);
        const recent = clock.now() - Date.parse(createdAt) < recentMs;
        return { requestHash, createdId, recent, ...(opened !== undefined && { response: opened }) };
      },
      async storeResponse(key, response, { secret }) {
        if (secret && !vault.encrypts) return;
        await updateResponse(db, key, vault.seal(response, ownerOf(key)));
      },
    },

    listener: {
      types: idempotentEvents,
      async inTransaction(tx, events) {
        for (const { type, idempotencyKey: key, agentId, organizationId, data } of events) {
          if (key?.event !== type) continue;
          const createdId = String({ agentId, organizationId, ...data }[key.idField]);
          const isFirst = await insertKey(
            tx,
            { ...key, createdId, createdAt: new Date(clock.now()) },
            oldest(),
          );
          if (!isFirst) throw new IdempotencyKeyTaken();
        }
      },
    },

    loops: [
      {
        name: 'idempotency-expired',
        everyMs: 3_600_000,
        purges: true,
        run: (signal) => deleteInChunks(signal, (atMost) => deleteKeys(db, oldest(), atMost)),
      },
    ],
  };
}
