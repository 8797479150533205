import { actingPerson } from '../../../kernel/caller.ts';
import type { Loop } from '../../../kernel/concurrency/loops.ts';
import { deleteInChunks } from '../../../kernel/data/delete-in-chunks.ts';
import { nilUuid } from '../../../kernel/ids.ts';
import { deleteExpiredCodes } from '../codes/store.ts';
import type { ConsoleDeps } from '../feature.ts';
import { deleteExpiredLinks } from '../links/store.ts';
import { timesAt } from './service.ts';
import { deleteExpiredSessions, type ExpiredSession } from './store.ts';

const worker = {
  requestId: 'console-purge',
  ipAddress: '127.0.0.1',
  userAgent: 'countersign worker',
  agentId: nilUuid,
};

const maxSessions = 500;

const reasonOf = ({ expired, credentialExpired }: ExpiredSession): string => {
  if (expired) return 'expired';
  return credentialExpired ? 'credential expired' : 'idle';
};

/** Requests do not depend on it: the query of a session compares the times itself. */
export function createPurgeLoop({ db, clock, ledger }: Pick<ConsoleDeps, 'db' | 'clock' | 'ledger'>): Loop {
  const endExpired = (): Promise<number> =>
    db.transaction(async (tx) => {
      const ended = await deleteExpiredSessions(tx, timesAt(clock.now()), maxSessions);
      await ledger.recordAll(
        tx,
        ended.map((session) => ({
          actor: session.person ? { ...worker, person: actingPerson(session.person) } : worker,
          type: 'session.ended',
          subject: {
            organizationId: session.organizationId,
            agentId: session.agentId ?? nilUuid,
            metadata: { sessionId: session.sessionId, method: session.method, reason: reasonOf(session) },
          },
        })),
      );
      return ended.length;
    });

  return {
    name: 'console-purge',
    everyMs: 60_000,
    purges: true,
    async run(signal) {
      while (!signal.aborted && (await endExpired()) >= maxSessions);
      await deleteInChunks(signal, (limit) => deleteExpiredLinks(db, new Date(clock.now()), limit));
      await deleteInChunks(signal, (limit) => deleteExpiredCodes(db, new Date(clock.now()), limit));
    },
  };
}
