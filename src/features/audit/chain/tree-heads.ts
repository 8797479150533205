/**
 * Tree heads: one signature for all checkpoints of a pass. They are the leaves of a Merkle tree, in the order of their
 * hashes, so that the place of a leaf tells nothing about the organization. docs/decisions/014-tree-heads.md.
 */
import type { Queryable } from '../../../kernel/data/db.ts';
import type { ReadStatement, Signer } from '../../../kernel/ports/signer.ts';
import { type Finding, finding } from '../findings.ts';
import type { Keyring } from './keys/keyring.ts';
import { createMerkleTree, leafHash } from './merkle.ts';
import { treeHeadSignatureFinding } from './rules.ts';
import {
  type Checkpoint,
  plainCheckpointText,
  sign,
  statementHash,
  type Tree,
  type TreeHeadRow,
} from './statements.ts';
import { findNewestTreeHead } from './tree-heads-store.ts';

export interface TreeHeads {
  /**
   * The newest tree head. With `invalid`, no tree head may follow it; with `lost`, this process has seen a later one. `seen`
   * defaults to the last one seen; in a snapshot it must be from before the snapshot.
   */
  newest(
    db: Queryable,
    seen?: TreeHeadRow | undefined,
  ): Promise<{ row: TreeHeadRow | undefined; invalid?: Finding; lost?: Finding }>;
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
}): TreeHeads {
  const { signer, keyring, readStatement } = deps;
  let lastSeen: TreeHeadRow | undefined;

  return {
    async newest(db, seen = lastSeen) {
      const row = await findNewestTreeHead(db);
      if (row && row.signed === seen?.signed) return { row };
      const { keys } = await keyring.trust(db);
      const invalid = row && (await treeHeadSignatureFinding(readStatement, row, keys));
      const lost = lostFinding(seen, row);
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

/** Retention never drops the newest tree head. */
function lostFinding(seen: TreeHeadRow | undefined, now: TreeHeadRow | undefined): Finding | undefined {
  if (!seen || (now && now.number > seen.number)) return undefined;
  return now?.signed === seen.signed ? undefined : finding('TREE_HEAD_LOST', { number: seen.number });
}
