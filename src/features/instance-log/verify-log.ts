/** Verifies the log of this database with keys that the caller trusts, and compares it with a checkpoint that was kept elsewhere. */
import { type Finding, finding } from '../../../sdk/typescript/src/audit/findings.ts';
import { forkFinding, shorterFinding } from '../../../sdk/typescript/src/audit/log-comparison.ts';
import { judge, type Witnessed, witnessedBy } from '../../../sdk/typescript/src/audit/log-proofs.ts';
import { leafHash } from '../../../sdk/typescript/src/audit/merkle.ts';
import type { Checkpoint } from '../../../sdk/typescript/src/transparency/checkpoint.ts';
import { TransparencyError } from '../../../sdk/typescript/src/transparency/errors.ts';
import type { CheckpointPolicy } from '../../../sdk/typescript/src/transparency/judge-checkpoint.ts';
import { openCheckpoint } from '../../../sdk/typescript/src/transparency/open-checkpoint.ts';
import { rootOf } from '../../../sdk/typescript/src/transparency/prove.ts';
import { verifyInclusion } from '../../../sdk/typescript/src/transparency/verify-proof.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { createTileReader } from './entries.ts';
import type { InstanceLogDeps, LogEvidence } from './feature.ts';
import { findNewestLog, type LogRow } from './store.ts';

export interface LogCheck {
  readonly policy: CheckpointPolicy;
  /** A checkpoint that the log has signed, from another place. */
  readonly kept?: Checkpoint | undefined;
}

export interface LogVerdict {
  readonly finding?: Finding | undefined;
  /** Null without witnesses. */
  readonly witnessed: Witnessed | null;
}

interface Deps extends Pick<InstanceLogDeps, 'readTreeHeads'> {
  readonly db: Queryable;
  readonly evidence: LogEvidence;
}

/**
 * The checkpoint that exports prove against must be signed and cosigned, and the newest tree head that it covers must be in it. The
 * caller has verified the tree heads: each names the one before, so that the newest covers all.
 */
export async function verifyInstanceLog(deps: Deps, { policy, kept }: LogCheck): Promise<LogVerdict> {
  const { db, evidence } = deps;
  const log = await findNewestLog(db);
  const proven = await evidence.checkpoint(db);
  const names = policy.witnesses.map(({ name }) => name);
  if (!log || !proven) return found(finding('LOG_QUORUM_MISSING', { absent: names }));
  const newest = await openNewest(db, log, policy);
  if (newest.finding) return found(newest.finding);
  const { judgement, finding: unsigned } = await judge(proven.text, policy);
  if (unsigned) return found(unsigned);
  const readTile = createTileReader(db, log.logNumber);
  const problem =
    (await treeHeadProblem(deps, proven, judgement.checkpoint)) ??
    (await forkFinding(readTile, judgement.checkpoint, newest.checkpoint)) ??
    (kept &&
      (shorterFinding(newest.checkpoint, kept) ?? (await forkFinding(readTile, kept, newest.checkpoint))));
  return problem ? found(problem) : { witnessed: witnessedBy(judgement) };
}

const found = (problem: Finding): LogVerdict => ({ finding: problem, witnessed: null });
const notProven = (reason: string) => finding('LOG_PROOF_INVALID', { reason });

/** The newest checkpoint: the log has signed it, and its tiles have its root. */
async function openNewest(
  db: Queryable,
  log: LogRow,
  { logKey }: CheckpointPolicy,
): Promise<{ checkpoint: Checkpoint; finding?: undefined } | { checkpoint?: undefined; finding: Finding }> {
  try {
    const { checkpoint } = await openCheckpoint(log.checkpoint, logKey);
    const root =
      checkpoint.size === log.size && (await rootOf(createTileReader(db, log.logNumber), log.size));
    return root === checkpoint.root
      ? { checkpoint }
      : { finding: notProven('the hashes in the database do not have the root of its newest checkpoint') };
  } catch (error) {
    if (!(error instanceof TransparencyError)) throw error;
    return { finding: finding('LOG_CHECKPOINT_NOT_SIGNED', { reason: error.message }) };
  }
}

async function treeHeadProblem(
  { db, evidence, readTreeHeads }: Deps,
  proven: NonNullable<Awaited<ReturnType<LogEvidence['checkpoint']>>>,
  { size, root }: Checkpoint,
): Promise<Finding | undefined> {
  const number = proven.highestTreeHead;
  const [head] = await readTreeHeads(db, number - 1, 1);
  // Retention has dropped it, or the log has just begun.
  if (number < proven.firstTreeHead || head?.number !== number) return undefined;
  const place = await evidence.prove(db, proven, number);
  const isIncluded = place && verifyInclusion({ leafHash: leafHash(head.signed), size, root, ...place });
  return isIncluded
    ? undefined
    : notProven(`its checkpoint of size ${size} does not have tree head ${number}`);
}
