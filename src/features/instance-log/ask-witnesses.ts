/**
 * Sends one checkpoint to several witnesses at once, and keeps what each answered: metrics count failures, and the log gets a line when a
 * witness begins or ceases to fail.
 */
import { formatVerifierKey } from '../../../sdk/typescript/src/transparency/verifier-key.ts';
import type { Witness } from '../../../sdk/typescript/src/transparency/witness-policy.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import type { WitnessingDeps } from './feature.ts';
import { type Outcome, type Submission, submit } from './submit.ts';
import { findWitnesses, type WitnessRow, writeWitness } from './witnesses-store.ts';

export interface WitnessQuestions {
  /** Resolves for each witness; a witness that does not answer delays no other. */
  ask(witness: Witness, submission: Submission, row: WitnessRow): Promise<Outcome>;
  /** In the order of the list. A witness that was not asked yet, or has another key now, has an empty row. */
  rows(db: Queryable, origin: string): Promise<readonly WitnessRow[]>;
  write(tx: Tx, origin: string, size: number, row: WitnessRow, outcome: Outcome): Promise<void>;
}

/** Shorter than the interval, so that a witness that hangs does not delay the next round. */
const timeoutMs = { min: 2_000, max: 5_000 };

export function createWitnessQuestions(deps: WitnessingDeps): WitnessQuestions {
  const { clock, log, metrics, policy, intervalSeconds } = deps;
  const limitMs = Math.max(timeoutMs.min, Math.min(timeoutMs.max, intervalSeconds * 1_000));
  const countFailure = new Map(
    policy.witnesses.map(({ key: { name } }) => [
      name,
      metrics.counter('service_audit_witness_failures_total', { witness: name }),
    ]),
  );
  /** What the log was told of each witness. */
  const reported = new Map<string, string>();

  const report = (name: string, outcome: Outcome) => {
    const failing = 'failing' in outcome ? outcome.failing : undefined;
    const before = reported.get(name);
    if (failing === undefined) {
      reported.delete(name);
      if (before !== undefined) log.info({ witness: name }, 'witness cosigns again');
      return;
    }
    countFailure.get(name)?.();
    reported.set(name, failing);
    if (failing === before) return;
    const detail = 'detail' in outcome ? { detail: outcome.detail } : {};
    log.warn(
      { witness: name, reason: failing, ...detail },
      'witness does not cosign; checkpoints lack its cosignature',
    );
  };

  return {
    async ask(witness, submission, { knownSize, cosignedAt }) {
      const time = cosignedAt === null ? undefined : Date.parse(cosignedAt) / 1_000;
      const outcome = await submit(deps, witness, submission, { knownSize, time }, limitMs);
      report(witness.key.name, outcome);
      return outcome;
    },
    async rows(db, origin) {
      const found = await findWitnesses(db, origin);
      return policy.witnesses.map(({ key }) => {
        const verifierKey = formatVerifierKey(key);
        return (
          found.find((row) => row.name === key.name && row.verifierKey === verifierKey) ?? {
            name: key.name,
            verifierKey,
            knownSize: 0,
            cosignedAt: null,
            failing: null,
            conflict: null,
            conflictSize: null,
          }
        );
      });
    },
    write: (tx, origin, size, row, outcome) =>
      writeWitness(tx, origin, { ...row, ...changeOf(outcome, size) }, isoTime(clock)),
  };
}

function changeOf(outcome: Outcome, size: number): Partial<WitnessRow> {
  if ('conflict' in outcome)
    return { failing: outcome.failing, conflict: outcome.conflict, conflictSize: outcome.knownSize };
  // Other failures do not take back what it has said.
  if ('failing' in outcome) return { failing: outcome.failing };
  const agrees = { failing: null, conflict: null, conflictSize: null };
  if (size === 0) return agrees;
  return { ...agrees, knownSize: size, cosignedAt: new Date(outcome.time * 1_000).toISOString() };
}
