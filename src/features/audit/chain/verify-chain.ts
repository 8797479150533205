/**
 * The rules of the chain, and those for which the database is needed: columns of events, records of segments, tree heads with all
 * their checkpoints. Without I/O.
 */
import { isDeepStrictEqual } from 'node:util';
import {
  acceptLink,
  type ChainHead,
  type ChainState,
  inclusionFinding,
  type LinkEvidence,
  matchesStatement,
  parseObject,
} from '../../../../sdk/typescript/src/audit/verify-chain.ts';
import type { PublicKey, ReadStatement } from '../../../kernel/ports/signer.ts';
import { type Finding, type FindingPlace, finding } from '../findings.ts';
import { eventIdIn, type StoredEvent, storedLength } from './hashes.ts';
import { createMerkleTree, leafHash } from './merkle.ts';
import {
  type Checkpoint,
  type CheckpointRow,
  checkpointText,
  keyIdOf,
  readSigned,
  statementHash,
  type TreeHead,
  type TreeHeadRow,
  unverifiedClaims,
} from './statements.ts';

export * from '../../../../sdk/typescript/src/audit/verify-chain.ts';

/** A link of the database; `columns` are the searchable columns of its event, unless SQL has compared them already. */
export const acceptStoredLink = (
  state: ChainState,
  link: LinkEvidence,
  columns: StoredEvent | undefined,
): Finding | undefined =>
  acceptLink(state, link) ??
  (columns &&
    columnFinding(columns, {
      organizationId: state.organizationId,
      sequence: link.sequence,
      eventId: eventIdIn(link.record),
    }));

/** The searchable columns say the same as the hashed text. */
function columnFinding(event: StoredEvent, place: FindingPlace): Finding | undefined {
  const { canonical, appendedIn, seal, time, metadata, ...columns } = event;
  if (!time.endsWith('000Z')) return finding('EVENT_TIME_INEXACT', place);
  const text = parseObject(canonical) ?? {};
  const expected = { ...columns, metadata: parseJson(metadata), timestamp: `${time.slice(0, -4)}Z` };
  const differing = Object.entries(expected)
    .filter(([name, value]) => !isDeepStrictEqual(text[name], value))
    .map(([name]) => name);
  if (differing.length === 0 && !canonical.includes(`,"metadata":${metadata},"organizationId":`))
    differing.push('metadata');
  if (differing.length > 0) return finding('EVENT_COLUMNS_DIFFER', { columns: differing }, place);
  return isDeepStrictEqual(text, expected) ? undefined : finding('EVENT_TEXT_HAS_MORE', place);
}

/** The records of a segment are exactly the links since the checkpoint before. */
export function recordsFinding(
  { organizationId, sequence }: ChainState,
  { size }: ChainHead,
  records: string,
): Finding | undefined {
  const links = Math.floor(records.length / storedLength);
  const missing = sequence + links + 1;
  if (missing <= size)
    return finding('LINK_MISSING', { expected: missing }, { organizationId, sequence: missing });
  return records.length === (size - sequence) * storedLength
    ? undefined
    : finding('LINKS_WITHOUT_CHECKPOINT', { organizationId, sequence: size + 1 });
}

/** A checkpoint that a process saw earlier must still be there: this finds a chain that was truncated with its checkpoints. */
export function truncationFinding(
  organizationId: string,
  seen: ChainHead | undefined,
  now: ChainHead,
): Finding | undefined {
  if (!seen || seen.number < now.number) return undefined;
  if (seen.number === now.number && seen.hash === now.hash) return undefined;
  return finding('CHECKPOINT_LOST', { number: seen.number }, { organizationId });
}

/**
 * The row of a tree head has the values of its text, and names the tree head before. After a gap, which retention leaves when
 * clocks were wrong, `before` is undefined.
 */
export function treeHeadFinding(
  row: TreeHeadRow & { takenOn: string },
  before: TreeHeadRow | undefined,
): Finding | undefined {
  const { number } = row;
  const text = unverifiedClaims('treeHead', row.signed);
  const matches = matchesTreeHead(row, text) && row.takenOn === row.at.slice(0, 10);
  const follows = before === undefined || row.previous === statementHash(before.signed);
  return matches && follows ? undefined : finding('TREE_HEAD_NOT_FOLLOWING', { number });
}

const matchesTreeHead = (row: TreeHeadRow, statement: TreeHead | undefined): boolean =>
  row.number === statement?.number &&
  row.size === statement.size &&
  row.root === statement.root &&
  row.at === statement.at &&
  row.previous === statement.previous &&
  row.keyId === keyIdOf(row.signed);

/** The checkpoints that are left of a tree are those that its tree head signs: as many, and with its root. */
export function leavesFinding(
  { number, size, root }: TreeHead,
  leaves: readonly Checkpoint[],
): Finding | undefined {
  if (leaves.length < size) return finding('TREE_LEAVES_MISSING', { number, size, found: leaves.length });
  const hashes = leaves.map((leaf) => leafHash(checkpointText(leaf))).sort();
  return leaves.length === size && createMerkleTree(hashes).root === root
    ? undefined
    : finding('TREE_LEAVES_DIFFER', { number });
}

/** A trusted key signed the tree head. */
export async function treeHeadSignatureFinding(
  read: ReadStatement,
  row: TreeHeadRow,
  keys: readonly PublicKey[],
): Promise<Finding | undefined> {
  const isSigned = matchesTreeHead(row, await readSigned(read, 'treeHead', row.signed, keys));
  return isSigned ? undefined : finding('TREE_HEAD_NOT_SIGNED', { number: row.number });
}

/** The row of a checkpoint whose signature was checked before: it still has the values of its text. */
export const rowFinding = (row: CheckpointRow): Finding | undefined => {
  const { organizationId, number } = row;
  if (row.inclusion) return inclusionFinding(row, unverifiedClaims('treeHead', row.signed));
  return matchesStatement(row, unverifiedClaims('checkpoint', row.signed))
    ? undefined
    : finding('CHECKPOINT_NOT_SIGNED', { number }, { organizationId });
};

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
