/** The chain of an export whose lines are being read, and the tree heads that cover it. */
import type { ExportDays } from './day.ts';
import type { CheckpointLine } from './export-lines.ts';
import type { Finding } from './findings.ts';
import type { CheckpointRow, PublicKey, ReadStatement } from './statements.ts';
import { type ChainHead, type ChainState, signatureFinding } from './verify-chain.ts';

export interface OpenChain {
  readonly state: ChainState;
  /** Where its lines begin. */
  readonly from: ChainHead;
  readonly droppedThrough: string;
  /** The number of events in the lines before it. */
  readonly eventsBefore: number;
  lastCheckpoint: CheckpointRow | undefined;
  hasLogProof: boolean;
}

export const openChain = (state: ChainState, droppedThrough: string, eventsBefore: number): OpenChain => ({
  state,
  from: state.checkpoint,
  droppedThrough,
  eventsBefore,
  lastCheckpoint: undefined,
  hasLogProof: false,
});

/** Nothing of the chain was read but its anchor. A file has at most one start. */
export const isAtAnchor = ({ state, lastCheckpoint }: OpenChain, { start }: ExportDays): boolean =>
  start === undefined && lastCheckpoint === undefined && state.sequence === state.checkpoint.size;

/** The checkpoint in the line before, which has no proof yet. */
export const unprovenCheckpoint = (chain: OpenChain | undefined): CheckpointRow | undefined =>
  chain && !chain.hasLogProof && chain.state.sequence === chain.state.checkpoint.size
    ? chain.lastCheckpoint
    : undefined;

/** Their texts take a few megabytes. */
const maxVerifiedTreeHeads = 10_000;

/**
 * A checkpoint names the one before, but not its tree head: each tree head needs a valid signature. A checkpoint that is
 * signed itself is named with its signature, so that of the last covers those before.
 */
export function createTreeHeadCheck(
  read: ReadStatement,
): (line: CheckpointLine, keys: readonly PublicKey[]) => Promise<Finding | undefined> {
  /** Signed texts of tree heads, verified: chains that grew in the same pass share one. */
  const verified = new Set<string>();
  return async (line, keys) => {
    if (!line.inclusion || verified.has(line.signed)) return undefined;
    const problem = await signatureFinding(read, line, keys);
    if (verified.size === maxVerifiedTreeHeads) verified.clear();
    if (!problem) verified.add(line.signed);
    return problem;
  };
}
