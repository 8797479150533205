/**
 * Finds a database that went back: restored from an older backup, cut off at its end, or a second one that the same keys serve. The
 * witnesses know what this log has signed. Each process asks them before it signs for the first time, and the rounds ask again.
 * A witness that does not answer delays the first signature by a few seconds, and no other.
 */
import { emptyRoot } from '../../../sdk/typescript/src/transparency/hash.ts';
import { proveConsistency } from '../../../sdk/typescript/src/transparency/prove.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import type { WitnessQuestions } from './ask-witnesses.ts';
import { createTileReader } from './entries.ts';
import type { WitnessingDeps } from './feature.ts';
import { signCheckpoint } from './log-key.ts';
import { findOwnLog } from './own-log.ts';
import { findLogOfOrigin } from './store.ts';
import type { Outcome, Submission } from './submit.ts';
import type { WitnessRow } from './witnesses-store.ts';

/** A witness knows a tree that this log does not continue. */
export interface LogConflict {
  readonly witness: string;
  /** `larger`: it knows more entries. `other`: it knows another tree of a size that we have. */
  readonly kind: 'larger' | 'other';
  readonly knownSize: number;
  readonly size: number;
}

/** Whether the log, and the audit log whose tree heads it has, may go on. */
export interface Continuation {
  /** Nothing may be signed with a conflict. In the first call of a process, it asks the witnesses. */
  beforeSigning(): Promise<LogConflict | undefined>;
  /** As of the last answers of the witnesses to any process. */
  conflict(db: Queryable): Promise<LogConflict | undefined>;
}

export function createContinuation(deps: WitnessingDeps, questions: WitnessQuestions): Continuation {
  const { db, clock, policy, logKey } = deps;
  let asking: Promise<void> | undefined;

  /** Without a log of ours, the checkpoint of the empty tree: each tree continues it. */
  const newestSubmission = async (): Promise<{ origin: string; submission: Submission }> => {
    const { origin, log } = await findOwnLog(db, deps);
    const checkpoint = { origin, size: 0, root: emptyRoot };
    if (!log)
      return {
        origin,
        submission: {
          note: await signCheckpoint(checkpoint, logKey),
          size: 0,
          signedAt: clock.now(),
          proveFrom: async () => [],
        },
      };
    return { origin, submission: submissionOf(db, log) };
  };

  const askAll = async (): Promise<void> => {
    const { origin, submission } = await newestSubmission();
    const rows = await questions.rows(db, origin);
    const asked = await Promise.all(
      policy.witnesses.map(async (witness, at) => {
        const row = rows[at] as WitnessRow;
        return { row, outcome: await questions.ask(witness, submission, row) };
      }),
    );
    // Another process may have signed a larger checkpoint during the questions, and stored it before the witness knew it.
    const size = (await findLogOfOrigin(db, origin))?.size ?? 0;
    await db.transaction(async (tx) => {
      for (const { row, outcome } of asked)
        if (!isOutdated(outcome, size)) await questions.write(tx, origin, submission.size, row, outcome);
    });
  };

  const conflict = async (queryable: Queryable): Promise<LogConflict | undefined> => {
    const { origin, log } = await findOwnLog(queryable, deps);
    const rows = await questions.rows(queryable, origin);
    return judgeConflict(rows, policy.quorum, log?.size ?? 0);
  };

  return {
    conflict,
    async beforeSigning() {
      asking ??= askAll().catch((error) => {
        asking = undefined;
        throw error;
      });
      await asking;
      return conflict(db);
    },
  };
}

export function submissionOf(
  db: Queryable,
  log: { logNumber: number; size: number; checkpoint: string; updatedAt: string },
): Submission {
  // Most witnesses know the same size.
  const proofs = new Map<number, Promise<readonly string[]>>();
  const prove = (oldSize: number) => proveConsistency(createTileReader(db, log.logNumber), oldSize, log.size);
  return {
    note: log.checkpoint,
    size: log.size,
    signedAt: Date.parse(log.updatedAt),
    proveFrom(oldSize) {
      const proof = proofs.get(oldSize) ?? prove(oldSize);
      proofs.set(oldSize, proof);
      return proof;
    },
  };
}

/** The tree that the witness knows is ours. */
export const isOutdated = (outcome: Outcome, size: number): boolean =>
  'conflict' in outcome && outcome.conflict === 'larger' && outcome.knownSize <= size;

/**
 * A single witness cannot stop the log of others with a wrong answer: the log goes on while a majority of the witnesses cosigns it, and so
 * many that the others were no quorum. Then no checkpoint with a quorum can have been lost.
 */
export function judgeConflict(
  rows: readonly WitnessRow[],
  quorum: number,
  size: number,
): LogConflict | undefined {
  const [first] = rows.flatMap((row) => conflictOf(row, size));
  if (!first) return undefined;
  const agreeing = rows.filter((row) => row.failing === null && conflictOf(row, size).length === 0).length;
  const needed = Math.max(rows.length - quorum + 1, Math.floor(rows.length / 2) + 1);
  return agreeing >= needed ? undefined : first;
}

function conflictOf(
  { name, knownSize, conflict, conflictSize }: WitnessRow,
  size: number,
): readonly LogConflict[] {
  const other = { witness: name, kind: 'other', knownSize: conflictSize ?? size, size } as const;
  if (conflict === 'other') return [other];
  const known = Math.max(knownSize, conflict === 'larger' ? (conflictSize ?? 0) : 0);
  return known > size ? [{ witness: name, kind: 'larger', knownSize: known, size }] : [];
}

export const describeConflict = ({ witness, kind, knownSize, size }: LogConflict): string => {
  const known =
    kind === 'larger'
      ? `the witness ${witness} knows a tree of ${knownSize} entries, and this database has ${size}`
      : `the witness ${witness} knows another tree of ${knownSize} entries than this database has`;
  return `${known}: the database is older than what was signed, or another instance uses the same AUDIT_LOG_KEY. Restore the newest database, stop the other instance, or begin another log with a new AUDIT_LOG_KEY: docs/operations/runbooks/audit-log-not-intact.md`;
};
