/**
 * The rounds of the witnesses: the newest checkpoint goes to all witnesses that have not cosigned it, and is kept with their cosignatures.
 * One process has a round at a time. It holds no transaction while it waits: a witness that hangs must not cost a connection.
 */
import {
  formatNote,
  type Note,
  type NoteSignature,
  parseNote,
  withSignatures,
} from '../../../sdk/typescript/src/transparency/note.ts';
import { isSameKey } from '../../../sdk/typescript/src/transparency/verifier-key.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { WitnessQuestions } from './ask-witnesses.ts';
import { isOutdated, submissionOf } from './continuation.ts';
import type { WitnessingDeps } from './feature.ts';
import { findOwnLog } from './own-log.ts';
import { findLog, type LogRow } from './store.ts';
import type { Outcome } from './submit.ts';
import {
  claimRound,
  endRound,
  findCheckpoints,
  type WitnessRow,
  writeCheckpoint,
} from './witnesses-store.ts';

export interface Rounds {
  /** `idle`: all witnesses have cosigned the newest checkpoint. `busy`: another process has a round, or the next one is not due. */
  round(signal?: AbortSignal): Promise<'done' | 'idle' | 'busy'>;
}

/** Longer than a round: after a kill, another process goes on then. */
const leaseMs = 15_000;

export function createRounds(deps: WitnessingDeps, questions: WitnessQuestions): Rounds {
  const { db, clock, policy, intervalSeconds } = deps;
  const isoAfter = (milliseconds: number) => new Date(clock.now() + milliseconds).toISOString();

  const hasSigned = ({ signatures }: Note, at: number): boolean => {
    const key = policy.witnesses[at]?.key;
    return key !== undefined && signatures.some((each) => isSameKey(each, key));
  };
  const countSigned = (note: Note) => policy.witnesses.filter((_, at) => hasSigned(note, at)).length;

  /** The newest checkpoint with the cosignatures that it has, and the witnesses that it lacks. */
  const findWork = async (log: LogRow) => {
    const served = (await findCheckpoints(db, log.logNumber)).find(({ kind }) => kind === 'served');
    const newest = parseNote(log.checkpoint);
    const note = served ? parseNote(served.note) : newest;
    const isServed = served !== undefined && note.text === newest.text;
    const base = isServed ? note : newest;
    return { base, isServed, lacking: policy.witnesses.filter((_, at) => !hasSigned(base, at)) };
  };

  const askAll = async (log: LogRow, startedAt: string, signal: AbortSignal | undefined) => {
    const { base, lacking } = await findWork(log);
    const rows = await questions.rows(db, log.origin);
    const rowOf = (name: string) => rows.find((row) => row.name === name) as WitnessRow;
    const outcomes = new Map<string, Outcome>();
    const noteNow = () =>
      withSignatures(
        base,
        lacking.flatMap(({ key }) => cosignatureOf(outcomes.get(key.name))),
      );
    const { promise: hasQuorum, resolve: reachQuorum } = Promise.withResolvers<void>();
    const submission = submissionOf(db, log);
    const answers = Promise.all(
      lacking.map(async (witness) => {
        const outcome = await questions.ask(witness, submission, rowOf(witness.key.name));
        outcomes.set(witness.key.name, outcome);
        if (countSigned(noteNow()) >= policy.quorum) reachQuorum();
      }),
    );
    // A round that was stopped waits no longer.
    answers.catch(() => {});
    const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
    const onAbort = () => stop();
    signal?.addEventListener('abort', onAbort);
    try {
      // Readers get the quorum before the slowest witness has answered.
      await Promise.race([answers, hasQuorum, stopped]);
      const early = outcomes.size;
      await store(log, startedAt, noteNow(), outcomes, rowOf);
      await Promise.race([answers, stopped]);
      if (outcomes.size > early) await store(log, startedAt, noteNow(), outcomes, rowOf);
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  };

  const store = async (
    log: LogRow,
    startedAt: string,
    signed: Note,
    outcomes: ReadonlyMap<string, Outcome>,
    rowOf: (name: string) => WitnessRow,
  ) => {
    const count = countSigned(signed);
    const checkpoint = { size: log.size, note: formatNote(signed) };
    await db.transaction(async (tx) => {
      const now = (await findLog(tx, log.logNumber)) ?? log;
      for (const [name, outcome] of outcomes)
        if (!isOutdated(outcome, now.size))
          await questions.write(tx, log.origin, log.size, rowOf(name), outcome);
      await writeCheckpoint(tx, log.logNumber, { kind: 'served', ...checkpoint });
      if (count > 0) await writeCheckpoint(tx, log.logNumber, { kind: 'cosigned', ...checkpoint });
      const isWitnessed = count >= policy.quorum;
      if (isWitnessed) await writeCheckpoint(tx, log.logNumber, { kind: 'witnessed', ...checkpoint });
      const waiting = now.size > log.size ? startedAt : null;
      await endRound(tx, log.logNumber, {
        nextAt: new Date(Date.parse(startedAt) + intervalSeconds * 1_000).toISOString(),
        unwitnessedSince: isWitnessed ? waiting : undefined,
      });
    });
  };

  return {
    async round(signal) {
      const { log: found } = await findOwnLog(db, deps);
      if (!found) return 'idle';
      const { isServed, lacking } = await findWork(found);
      if (isServed && lacking.length === 0) return 'idle';
      const startedAt = isoTime(clock);
      const { logNumber } = found;
      if (!(await claimRound(db, logNumber, { now: startedAt, endsBy: isoAfter(leaseMs) }))) return 'busy';
      // Another process may have let it grow.
      await askAll((await findLog(db, logNumber)) ?? found, startedAt, signal);
      return 'done';
    },
  };
}

const cosignatureOf = (outcome: Outcome | undefined): readonly NoteSignature[] =>
  outcome && 'cosignature' in outcome ? [outcome.cosignature] : [];
