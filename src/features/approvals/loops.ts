import { limits } from '../../contract/limits.ts';
import type { Actor } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import { deleteInChunks } from '../../kernel/data/delete-in-chunks.ts';
import { eventSubject } from './approval.ts';
import type { ApprovalDeps } from './feature.ts';
import { deleteDecided, lockLapsed, updateOutcome } from './store.ts';

const lapsedAtOnce = 100;
const retentionMs = limits.auditRetentionDays * 86_400_000;

/** Only the event and the ping wait for it: queries compare the times. */
export const createExpiryLoop = ({
  db,
  clock,
  ids,
  ledger,
  notifications,
}: Pick<ApprovalDeps, 'db' | 'clock' | 'ids' | 'ledger' | 'notifications'>): Loop => ({
  name: 'approvals-lapsed',
  everyMs: 10_000,
  async run(signal) {
    const actor: Actor = { requestId: ids.uuid(), ipAddress: '', userAgent: '' };
    let found = lapsedAtOnce;
    while (found === lapsedAtOnce && !signal.aborted)
      found = await db.transaction(async (tx) => {
        const lapsed = await lockLapsed(tx, new Date(clock.now()), lapsedAtOnce);
        for (const approval of lapsed) {
          const outcome = { status: 'expired', decidedBy: null, decidedAt: isoTime(clock) } as const;
          await updateOutcome(tx, approval.approvalId, outcome);
          await notifications.decided(tx, approval);
        }
        await ledger.recordAll(
          tx,
          lapsed.map((approval) => ({
            actor,
            type: 'approval.expired',
            subject: eventSubject(approval, { status: 'expired' }),
          })),
        );
        return lapsed.length;
      });
  },
});

export const createPurgeLoop = ({ db, clock }: Pick<ApprovalDeps, 'db' | 'clock'>): Loop => ({
  name: 'approvals-old',
  everyMs: 3_600_000,
  purges: true,
  run: (signal) =>
    deleteInChunks(signal, (atMost) => deleteDecided(db, new Date(clock.now() - retentionMs), atMost)),
});
