/** The signed statements of the chain, and how the server makes them. */
import {
  type Checkpoint,
  type Statements,
  statementTypes,
  type TreeHeadRow,
} from '../../../../sdk/typescript/src/audit/statements.ts';
import type { Claims, Signer } from '../../../kernel/ports/signer.ts';

export * from '../../../../sdk/typescript/src/audit/statements.ts';

/** A checkpoint in a tree. */
interface Leaf<T extends Checkpoint> {
  readonly checkpoint: T;
  /** The next checkpoint names it. */
  readonly hash: string;
  /** The nodes of its inclusion proof, joined. */
  readonly proof: string;
}

export interface Tree<T extends Checkpoint> {
  readonly treeHead: TreeHeadRow;
  /** In the order of their places. */
  readonly leaves: readonly Leaf<T>[];
}

/** The same text, for a checkpoint whose texts need no escape: one that the sequencer made. */
export const plainCheckpointText = ({
  at,
  head,
  number,
  organizationId,
  previous,
  size,
}: Checkpoint): string =>
  `{"at":"${at}","head":"${head}","number":${number},"organizationId":"${organizationId}","previous":${
    previous === null ? 'null' : `"${previous}"`
  },"size":${size}}`;

export const sign = <K extends keyof Statements>(
  signer: Signer,
  kind: K,
  claims: Statements[K],
): Promise<string> => signer.sign(claims as unknown as Claims, statementTypes[kind]);
