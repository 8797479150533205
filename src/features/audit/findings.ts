/**
 * The findings of verification: each code with its sentence. The alarm logs them, `countersign audit verify` prints them,
 * for the database and for an export alike.
 */

const nothingSigned = 'nothing is linked or signed until it is restored';

/** A name in a file can be as long as the file. */
const shortened = (name: string): string => (name.length > 100 ? `${name.slice(0, 100)}…` : name);

const sentences = {
  // Links and events
  LINK_MISSING: ({ expected }: { expected: number }) => `link ${expected} is missing`,
  LINK_DUPLICATE: () => 'two links have the same sequence number',
  LINK_HASH_MISMATCH: () => 'the hash of the link does not follow from the link before it',
  LINK_DAY_MISMATCH: () => 'the link is stored under another day than its checkpoint',
  LINKS_WITHOUT_CHECKPOINT: () => 'there are links that no checkpoint covers',
  LINKS_INCONSISTENT: () =>
    'links were inconsistent when an upgrade moved them; they are in audit_inconsistent_links',
  ROW_BEFORE_FIRST: () => 'a segment has a size below 1',
  ROW_UNREADABLE: () => 'a row of the chain cannot be read',
  EVENT_MISSING: () => 'the event is missing, and retention did not drop its day',
  EVENT_CHANGED: () => 'the hash of the event is not the hash in its link',
  EVENT_TEXT_OF_ANOTHER: () =>
    'the text of the event names another organization, event or time than its link',
  EVENT_TEXT_INVALID: () => 'the text of the event is not a JSON object',
  EVENT_TIME_INEXACT: () => 'the time of the event has microseconds',
  EVENT_COLUMNS_DIFFER: ({ columns }: { columns: readonly string[] }) =>
    `columns of the event differ from its text: ${columns.join(', ')}`,
  EVENT_TEXT_HAS_MORE: () => 'the text of the event has members that no column has',
  EVENT_NOT_LINKED: () => 'the event has no link: it was not recorded by this service',
  EVENT_NOT_SEALED: () => 'the event has no valid seal: it was not recorded by this service',
  EVENT_DELETED: () => 'the event was recorded, and deleted before it was linked',

  // Checkpoints, tree heads and anchors
  CHECKPOINT_NOT_FOLLOWING: ({ number }: { number: number }) =>
    `checkpoint ${number} is missing or does not follow from the one before it`,
  CHECKPOINT_HEAD_MISMATCH: ({ number }: { number: number }) =>
    `the size or head hash of checkpoint ${number} is not that of its last link`,
  CHECKPOINT_NOT_SIGNED: ({ number }: { number: number }) =>
    `checkpoint ${number} has no valid signature by a trusted key`,
  CHECKPOINT_LOST: ({ number }: { number: number }) =>
    `checkpoint ${number} was seen earlier, and is now missing or different`,
  INCLUSION_PROOF_INVALID: ({ number }: { number: number }) =>
    `checkpoint ${number} is not in the tree that its tree head signs`,
  TREE_HEAD_MISSING: ({ number }: { number: number }) => `tree head ${number} is missing`,
  TREE_HEAD_NOT_SIGNED: ({ number }: { number: number }) =>
    `tree head ${number} has no valid signature by a trusted key`,
  TREE_HEAD_NOT_FOLLOWING: ({ number }: { number: number }) =>
    `tree head ${number} differs from its signed text, or does not follow from the one before it`,
  TREE_HEAD_LOST: ({ number }: { number: number }) =>
    `tree head ${number} was seen earlier, and is now missing or different`,
  TREE_LEAVES_MISSING: ({ number, size, found }: { number: number; size: number; found: number }) =>
    `tree head ${number} signs ${size} ${size === 1 ? 'checkpoint' : 'checkpoints'}, and ${found} of them ${found === 1 ? 'is' : 'are'} left`,
  TREE_LEAVES_DIFFER: ({ number }: { number: number }) =>
    `tree head ${number} signs other checkpoints than those that are left`,
  CHAIN_END_MISSING: ({ number }: { number: number }) =>
    `checkpoints of tree head ${number} were removed or changed, and this chain ends before it: nothing is linked to the chain until they are restored`,
  ANCHOR_NOT_SIGNED: ({ number }: { number: number }) =>
    `anchor ${number} has no valid signature by a trusted key`,
  EXTERNAL_CHECKPOINT_NOT_SIGNED: () => 'the external checkpoint has no valid signature by a trusted key',
  EXTERNAL_CHECKPOINT_INCOMPLETE: () =>
    'the external checkpoint is a tree head alone; keep the whole entry of GET /audit/checkpoints as JSON',
  EXTERNAL_CHECKPOINT_DIFFERS: ({ number }: { number: number }) =>
    `checkpoint ${number} of the log is not the external checkpoint of that number`,
  EXTERNAL_CHECKPOINT_EXPIRED: ({ number }: { number: number }) =>
    `the external checkpoint ${number} is older than retention`,
  EXTERNAL_CHECKPOINT_MISSING: ({ number }: { number?: number }) =>
    number === undefined
      ? 'the external checkpoint is not in the log'
      : `the external checkpoint ${number} is not in the log`,

  // Signing keys
  KEY_NOT_TRUSTED: ({ number }: { number: number }) => `signing key ${number} is signed by no trusted key`,
  KEY_NOT_NAMED: ({ number }: { number: number }) =>
    `signing key ${number} is not the one that its successor names`,
  KEY_ROW_DIFFERS: ({ number }: { number: number }) =>
    `the row of signing key ${number} differs from its signed statement`,
  FIRST_KEY_MISSING: () => 'the first signing key is missing',
  KEYS_EMPTIED: ({ tables }: { tables: readonly string[] }) =>
    `audit_keys was emptied, but ${tables.join(', ')} was not: ${nothingSigned}`,
  KEY_ROW_REMOVED: ({ keyId }: { keyId: string }) =>
    `the row of audit_keys for the signing key ${keyId} was removed: ${nothingSigned}`,
  SHARED_SEAL_REMOVED: ({ keyId }: { keyId: string }) =>
    `the seal that the signing key ${keyId} shared with ours was removed from audit_shared_seals`,
  SIGNED_BY_UNLISTED_KEY: ({ keyId }: { keyId: string }) =>
    `the audit log is signed by another key: ${keyId}`,
  SIGNED_BY_KEY_WITHOUT_SEAL: ({ keyId }: { keyId: string }) =>
    `the audit log is signed by another key, which does not list ours: ${keyId}`,
  PREVIOUS_KEY_NOT_TRUSTED: ({ keyId }: { keyId: string | undefined }) =>
    `the previous signing key is not trusted: ${keyId}`,

  // Exports
  EXPORT_VERSION_UNKNOWN: ({ version }: { version: number }) =>
    `the export has the unknown version ${version}`,
  EXPORT_LINE_INVALID: () => 'a line of the export is not valid',
  EXPORT_HEADER_INVALID: () => 'the export does not begin with one line of the kind "export"',
  EXPORT_FIELD_REPEATED: ({ field }: { field: string }) =>
    `a line of the export has the field ${shortened(field)} twice: programs may read different values`,
  EXPORT_FIELD_UNKNOWN: ({ field }: { field: string }) =>
    `a line of the export has the field ${shortened(field)}, which an export does not have: nothing proves its value`,
  EXPORT_TRUNCATED: () => 'the export is not complete: its last line is missing',
  EXPORT_CONTINUES: () => 'the export has lines after its last line',
  EXPORT_NOT_SIGNED: () => 'the last line of the export has no valid signature by a trusted key',
  EXPORT_WITHOUT_STATEMENT: ({ events, chains }: { events: number; chains: string }) =>
    `the end of the export is not signed, so whole chains may be missing; the rest is intact, ${events} events in ${chains}`,
  EXPORT_CHAIN_COUNT: ({ found, signed }: { found: number; signed: number }) =>
    `the export has another number of chains (${found}) than its signed statement (${signed})`,
  EXPORT_EVENT_COUNT: ({ found, signed }: { found: number; signed: number }) =>
    `the export has another number of events (${found}) than its signed statement (${signed})`,
  EXPORT_CHAINS_DIFFER: () => 'the chains of the export are not those of its signed statement',
  EXPORT_NUMBERS_DIFFER: () => 'the numbers in the last line differ from its signed statement',
  EXPORT_UNSIGNED_COUNT: ({ found, stated }: { found: number; stated: number }) =>
    `the export has ${found} events, and its last line says ${stated}`,
} as const;

type Sentences = typeof sentences;
export type FindingCode = keyof Sentences;
type ParametersOf<Code extends FindingCode> = Parameters<Sentences[Code]>;

/** Where the finding is. Without an organization it concerns the instance's own keys, or an export as a whole. */
export interface FindingPlace {
  readonly organizationId?: string | undefined;
  readonly sequence?: number | undefined;
  readonly eventId?: string | undefined;
}

export interface Finding extends FindingPlace {
  readonly code: FindingCode;
  /** The sentence of the code. */
  readonly problem: string;
}

/** `finding('LINK_MISSING', { expected: 5 })`; codes without parameters take the place alone. */
export function finding<Code extends FindingCode>(
  code: Code,
  ...[first, second]: ParametersOf<Code> extends []
    ? [place?: FindingPlace]
    : [parameters: ParametersOf<Code>[0], place?: FindingPlace]
): Finding {
  const sentence = sentences[code] as (parameters: unknown) => string;
  const place = (sentence.length === 0 ? first : second) as FindingPlace | undefined;
  return { ...place, code, problem: sentence(first) };
}
