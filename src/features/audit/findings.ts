/**
 * The findings of verification: those of the chain and of exports, and those that only the database has. The alarm logs them,
 * `countersign audit verify` prints them.
 */
import {
  chainSentences,
  createFinding,
  type Finding as FindingOf,
} from '../../../sdk/typescript/src/audit/findings.ts';

export type { FindingPlace } from '../../../sdk/typescript/src/audit/findings.ts';

const nothingSigned = 'nothing is linked or signed until it is restored';

const restoredOrSecond = `an older database was restored, or another instance has the same keys; ${nothingSigned}`;

interface WitnessConflict {
  readonly witness: string;
  readonly knownSize: number;
  readonly size: number;
}

interface Differing {
  readonly field: string;
  readonly found: string | number;
  readonly stated: string | number;
}

const sentences = {
  ...chainSentences,

  // Links and events
  LINK_DUPLICATE: () => 'two links have the same sequence number',
  LINKS_INCONSISTENT: () =>
    'links were inconsistent when an upgrade moved them; they are in audit_inconsistent_links',
  ROW_BEFORE_FIRST: () => 'a segment has a size below 1',
  ROW_UNREADABLE: () => 'a row of the chain cannot be read',
  EVENT_TIME_INEXACT: () => 'the time of the event has microseconds',
  EVENT_COLUMNS_DIFFER: ({ columns }: { columns: readonly string[] }) =>
    `columns of the event differ from its text: ${columns.join(', ')}`,
  EVENT_TEXT_HAS_MORE: () => 'the text of the event has members that no column has',
  EVENT_NOT_LINKED: () => 'the event has no link: it was not recorded by this service',
  EVENT_NOT_SEALED: () => 'the event has no valid seal: it was not recorded by this service',
  EVENT_DELETED: () => 'the event was recorded, and deleted before it was linked',

  // Checkpoints, tree heads and anchors
  CHECKPOINT_LOST: ({ number }: { number: number }) =>
    `checkpoint ${number} was seen earlier, and is now missing or different`,
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
  EXTERNAL_CHECKPOINT_NOT_SIGNED: () => 'the external checkpoint has no valid signature by a trusted key',
  EXTERNAL_CHECKPOINT_INCOMPLETE: () =>
    'the external checkpoint is a tree head alone; keep the whole entry of GET /audit/checkpoints as JSON',
  EXTERNAL_CHECKPOINT_DIFFERS: ({ number }: { number: number }) =>
    `checkpoint ${number} of the log is not the external checkpoint of that number`,
  EXTERNAL_CHECKPOINT_EXPIRED: ({ number }: { number: number }) =>
    `the external checkpoint ${number} is older than retention`,

  // The instance log
  WITNESS_KNOWS_LARGER_LOG: ({ witness, knownSize, size }: WitnessConflict) =>
    `the witness ${witness} knows ${knownSize} entries of the instance log, and the database has ${size}: ${restoredOrSecond}`,
  WITNESS_KNOWS_OTHER_LOG: ({ witness, knownSize }: WitnessConflict) =>
    `the witness ${witness} knows other ${knownSize} entries of the instance log than the database has: ${restoredOrSecond}`,

  // The archive
  ARCHIVE_FILE_MISSING: () => 'the manifest of the day is there, and its file is not',
  ARCHIVE_FILE_DIFFERS: ({ field, found, stated }: Differing) =>
    `the file is not the one of its manifest: ${field} is ${found}, and the manifest says ${stated}`,
  ARCHIVE_FILE_DAMAGED: ({ reason }: { reason: string }) => `the file cannot be read: ${reason}`,
  ARCHIVE_FILE_OF_ANOTHER: ({ day, organizationId }: { day: string; organizationId: string }) =>
    `the file has the day ${day} of organization ${organizationId}`,
  ARCHIVE_MANIFEST_MISSING: () =>
    'the file has no manifest: archiving was stopped before it was finished, which `countersign audit archive run` does, or the manifest was removed',
  ARCHIVE_MANIFEST_INVALID: ({ reason }: { reason: string }) => `the manifest is not valid: ${reason}`,
  ARCHIVE_MANIFEST_NOT_SIGNED: () => 'the manifest has no valid signature by a trusted key',
  ARCHIVE_DAYS_MISSING: ({ after, links }: { after: string; links: number }) =>
    `one or more days are missing: ${links} links between the day ${after} and this one`,
  ARCHIVE_DAY_NOT_FOLLOWING: ({ after }: { after: string }) =>
    `the day does not follow from the day ${after} before it`,

  // Signing keys
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
} as const;

export type FindingCode = keyof typeof sentences;
export type Finding = FindingOf<FindingCode>;

export const finding = createFinding(sentences);
