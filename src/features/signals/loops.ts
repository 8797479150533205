import { limits } from '../../contract/limits.ts';
import type { Actor } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import { deleteInChunks } from '../../kernel/data/delete-in-chunks.ts';
import type { SignalDeps, SignalStreamDeps } from './feature.ts';
import { streamEvent } from './owned-streams.ts';
import type { Polls } from './polls.ts';
import {
  channel,
  deleteOldDeliveries,
  deleteOldSignals,
  deleteOrphanDeliveries,
  findStreamsToWake,
} from './signals-store.ts';
import { deleteInactive } from './streams-store.ts';

const { signals } = limits;
const inactiveAtOnce = 100;
/** A new stream still gets the signals of `keptSeconds`: a purge with another clock must not delete them in that moment. */
const fillMarginSeconds = 600;

/**
 * In every process, because each one that serves HTTP has open polls of its own. Without polls it makes no query and listens to no
 * notification.
 */
export function createPollLoop({ db }: Pick<SignalDeps, 'db'>, polls: Polls): Loop {
  let wake = () => {};
  let stopListening: (() => Promise<void>) | undefined;
  return {
    name: 'signals-poll',
    everyMs: 500,
    inEveryProcess: true,
    begin(wakeLoop) {
      wake = wakeLoop;
      return async () => {
        wake = () => {};
        await stopListening?.();
      };
    },
    async run() {
      const streamIds = polls.streamIds();
      if (streamIds.length === 0) return;
      stopListening ??= db.listen(channel, () => wake());
      polls.wake(await findStreamsToWake(db, streamIds));
    },
  };
}

/** Queries compare the times, so this need not be punctual. */
export const createPurgeLoop = ({ db, clock }: Pick<SignalDeps, 'db' | 'clock'>): Loop => ({
  name: 'signals-purge',
  everyMs: 60_000,
  purges: true,
  async run(signal) {
    const before = (seconds: number) => new Date(clock.now() - seconds * 1_000).toISOString();
    await deleteInChunks(signal, (limit) =>
      deleteOldDeliveries(db, before(signals.undeliveredSeconds), limit),
    );
    await deleteInChunks(signal, (limit) => deleteOrphanDeliveries(db, limit));
    await deleteInChunks(signal, (limit) =>
      deleteOldSignals(db, before(signals.keptSeconds + fillMarginSeconds), limit),
    );
  },
});

/** Deletes streams whose receiver is gone. */
export const createInactiveLoop = ({
  db,
  clock,
  ids,
  ledger,
}: Pick<SignalStreamDeps, 'db' | 'clock' | 'ids' | 'ledger'>): Loop => ({
  name: 'signals-inactive',
  everyMs: 30_000,
  purges: true,
  async run(signal) {
    const actor: Actor = { requestId: ids.uuid(), ipAddress: '', userAgent: '' };
    let found = inactiveAtOnce;
    while (found === inactiveAtOnce && !signal.aborted)
      found = await db.transaction(async (tx) => {
        const deleted = await deleteInactive(tx, isoTime(clock), inactiveAtOnce);
        if (deleted.length > 0)
          await ledger.recordAll(
            tx,
            deleted.map((stream) => ({
              actor,
              type: 'signal_stream.deleted',
              subject: streamEvent(stream, { reason: 'inactive' }),
            })),
          );
        return deleted.length;
      });
  },
});
