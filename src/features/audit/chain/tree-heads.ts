/**
 * Tree heads: one signature for all checkpoints of a pass. They are the leaves of a Merkle tree, in the order of their
 * hashes, so that the place of a leaf tells nothing about the organization. docs/decisions/014-tree-heads.md.
 */
import type { Queryable } from '../../../kernel/data/db.ts';
import type { ReadStatement, Signer } from '../../../kernel/ports/signer.ts';
import { type Finding, finding } from '../findings.ts';
import type { ChainHeads } from './chain-heads.ts';
import type { Keyring } from './keys/keyring.ts';
import { findTreeAfter } from './leaves/leaves-store.ts';
import { createMerkleTree, leafHash } from './merkle.ts';
import {
  type Checkpoint,
  plainCheckpointText,
  sign,
  statementHash,
  type Tree,
  type TreeHeadRow,
} from './statements.ts';
import { findNewestTreeHead, hasTreeHead } from './tree-heads-store.ts';
import { treeHeadSignatureFinding } from './verify-chain.ts';

export interface TreeHeads {
  /**
   * The newest tree head. With `invalid` or `lost`, no tree head may follow it; with `lost`, one is missing that this
   * process has seen, or that a checkpoint names. `seen` defaults to the last one seen; in a snapshot it must be from before the snapshot.
   */
  newest(
    db: Queryable,
    seen?: TreeHeadRow | undefined,
  ): Promise<{ row: TreeHeadRow | undefined; invalid?: Finding; lost?: Finding }>;
  /** Unless a trusted key has signed it. */
  signatureFinding(db: Queryable, row: TreeHeadRow): Promise<Finding | undefined>;
  /** This process has committed it, or has verified it. */
  markSeen(row: TreeHeadRow): void;
  lastSeen(): TreeHeadRow | undefined;
  /** Covers the checkpoints of a pass. Only those with the same time share a tree: nearly always all of them. */
  cover<T extends Checkpoint>(checkpoints: readonly T[], newest: TreeHeadRow | undefined): Promise<Tree<T>[]>;
}

export function createTreeHeads(deps: {
  signer: Signer;
  keyring: Keyring;
  readStatement: ReadStatement;
  chainHeads: Pick<ChainHeads, 'dropped'>;
}): TreeHeads {
  const { signer, keyring, readStatement, chainHeads } = deps;
  let lastSeen: TreeHeadRow | undefined;

  const signatureFinding: TreeHeads['signatureFinding'] = async (db, row) => {
    const { keys } = await keyring.trust(db);
    return treeHeadSignatureFinding(readStatement, row, keys);
  };

  /** Another process may have continued from before it: then a later one is there, too. Only retention drops it, when it is old. */
  const lostFinding = async (db: Queryable, seen: TreeHeadRow, now: TreeHeadRow | undefined) => {
    if (now && now.number > seen.number) {
      if (await hasTreeHead(db, seen)) return undefined;
      if (dayOf(seen) < ((await chainHeads.dropped(db))?.before ?? '')) return undefined;
    }
    return finding('TREE_HEAD_LOST', { number: seen.number });
  };

  /** A checkpoint names a later tree head than the newest that is left: its number must not be signed again. */
  const missingFinding = async (db: Queryable, newest: TreeHeadRow | undefined) => {
    const number = await findTreeAfter(db, newest);
    return number === undefined ? undefined : finding('TREE_HEAD_MISSING', { number });
  };

  return {
    signatureFinding,
    async newest(db, seen = lastSeen) {
      const row = await findNewestTreeHead(db);
      if (row && row.signed === seen?.signed) return { row };
      const invalid = row && (await signatureFinding(db, row));
      const lost = (seen && (await lostFinding(db, seen, row))) ?? (await missingFinding(db, row));
      return { row, ...(invalid && { invalid }), ...(lost && { lost }) };
    },
    markSeen(row) {
      if ((lastSeen?.number ?? 0) < row.number) lastSeen = row;
    },
    lastSeen: () => lastSeen,
    async cover<T extends Checkpoint>(checkpoints: readonly T[], newest: TreeHeadRow | undefined) {
      const trees: Tree<T>[] = [];
      for (const [at, group] of Map.groupBy(checkpoints, (checkpoint) => checkpoint.at)) {
        const leaves = group
          .map((checkpoint) => ({ checkpoint, hash: leafHash(plainCheckpointText(checkpoint)), proof: '' }))
          .sort((one, other) => (one.hash < other.hash ? -1 : 1));
        const { root, proofs } = createMerkleTree(leaves.map(({ hash }) => hash));
        for (const [index, leaf] of leaves.entries()) leaf.proof = proofs[index] as string;
        const before = trees.at(-1)?.treeHead ?? newest;
        const statement = {
          number: (before?.number ?? 0) + 1,
          at,
          size: leaves.length,
          root,
          previous: before ? statementHash(before.signed) : null,
        };
        const signed = await sign(signer, 'treeHead', statement);
        trees.push({ treeHead: { ...statement, keyId: signer.keyId, signed }, leaves });
      }
      return trees;
    },
  };
}

const dayOf = ({ at }: TreeHeadRow): string => at.slice(0, 10);
