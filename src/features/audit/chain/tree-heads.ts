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
  checkpointText,
  type Inclusion,
  sign,
  statementHash,
  type TreeHeadRow,
} from './statements.ts';
import { findNewestTreeHead } from './tree-heads-store.ts';

/** With its hash, which the next checkpoint names. */
export type Covered<T extends Checkpoint> = T & { readonly hash: string; readonly inclusion: Inclusion };

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
  cover<T extends Checkpoint>(
    checkpoints: readonly T[],
    newest: TreeHeadRow | undefined,
  ): Promise<{ treeHeads: TreeHeadRow[]; covered: Covered<T>[] }>;
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
      const treeHeads: TreeHeadRow[] = [];
      const covered: Covered<T>[] = [];
      for (const [at, group] of Map.groupBy(checkpoints, (checkpoint) => checkpoint.at)) {
        const leaves = group
          .map((checkpoint) => ({ checkpoint, hash: leafHash(checkpointText(checkpoint)) }))
          .sort((one, other) => (one.hash < other.hash ? -1 : 1));
        const tree = createMerkleTree(leaves.map(({ hash }) => hash));
        const before = treeHeads.at(-1) ?? newest;
        const number = (before?.number ?? 0) + 1;
        const statement = {
          number,
          at,
          size: leaves.length,
          root: tree.root,
          previous: before ? statementHash(before.signed) : null,
        };
        const signed = await sign(signer, 'treeHead', statement);
        treeHeads.push({ ...statement, keyId: signer.keyId, signed });
        for (const [leafIndex, { checkpoint, hash }] of leaves.entries()) {
          const inclusion = {
            treeHead: number,
            treeSize: leaves.length,
            leafIndex,
            proof: tree.proofOf(leafIndex),
          };
          covered.push({ ...checkpoint, hash, inclusion });
        }
      }
      return { treeHeads, covered };
    },
  };
}

/** Retention never drops the newest tree head. */
function lostFinding(seen: TreeHeadRow | undefined, now: TreeHeadRow | undefined): Finding | undefined {
  if (!seen || (now && now.number > seen.number)) return undefined;
  return now?.signed === seen.signed ? undefined : finding('TREE_HEAD_LOST', { number: seen.number });
}
