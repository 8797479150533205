/** What verification can find: the codes of the chain's rules and those of the console, in the words of the console. */
import type {
  Finding as ChainFinding,
  FindingCode as ChainFindingCode,
} from '../../../../../sdk/typescript/src/audit/findings.ts';

export interface Place {
  /** The position in the chain. */
  readonly sequence?: number;
  readonly eventId?: string;
  readonly checkpoint?: number;
}

export interface Finding extends Place {
  readonly code: FindingCode | ChainFindingCode;
  readonly message: string;
}

const sentences = {
  LINK_MISSING: 'The event at this position is missing from the chain.',
  LINK_HASH_MISMATCH: 'The hash of this position does not follow from the one before it.',
  LINKS_WITHOUT_CHECKPOINT: 'The chain has events that no signed checkpoint covers.',
  LINKS_INCONSISTENT: 'An upgrade found links of an earlier version that did not follow from each other.',
  EVENT_MISSING: 'The event was deleted, and retention did not drop its day.',
  EVENT_CHANGED: 'The event was changed: its hash is not the one in the chain.',
  EVENT_TEXT_OF_ANOTHER: 'The text of the event names another organization, event or time than the chain.',
  EVENT_COLUMNS_DIFFER: 'The searchable columns of the event differ from its text.',
  EVENT_NOT_LINKED: 'The log shows an event that is not in the chain: this service did not record it.',
  EVENT_NOT_LISTED: 'The chain has events that the log does not show.',
  EVENT_SHOWN_DIFFERS: 'The event in the list differs from the event in the chain.',
  CHECKPOINT_NOT_FOLLOWING: 'The checkpoint is missing, or does not follow from the one before it.',
  CHECKPOINT_HEAD_MISMATCH: 'The events before the checkpoint are not those that it signs.',
  CHECKPOINT_NOT_SIGNED: 'The checkpoint has no valid signature by a key of this instance.',
  CHECKPOINT_LOST:
    'This browser has seen a later or different checkpoint: the end of the log was removed or replaced.',
  INCLUSION_PROOF_INVALID: 'The checkpoint is not in the tree that was signed: the chain was computed again.',
  TREE_HEAD_NOT_SIGNED: 'The tree head of the checkpoint has no valid signature by a key of this instance.',
  ANCHOR_NOT_SIGNED: 'The anchor of retention has no valid signature by a key of this instance.',
  ANCHOR_MISMATCH: 'The chain does not begin where the signed anchor of retention ends.',
  KEY_NOT_TRUSTED: 'A signing key of the log is signed by no key that leads to the published keys.',
  CHAIN_SHRANK: 'The chain became shorter while it was read.',
  ANOTHER_ORGANIZATION: 'The server answered with the chain of another organization.',
  UNREADABLE: 'The server answered with evidence that cannot be read.',
  FILE_UNREADABLE: 'The file is damaged or not complete: it cannot be decompressed.',
  FILE_CHANGED: 'The file is not the one that was archived: its SHA-256 is not the one in the list.',
  FILE_NOT_SIGNED: 'The end of the file is not signed, so whole parts of it may be missing.',
  FILE_OF_ANOTHER_DAY: 'The file is of another day or organization than the list says.',
  FILE_LISTED_DIFFERENTLY: 'The list does not name the events that the file has.',
} as const;

type FindingCode = keyof typeof sentences;

export const finding = (code: FindingCode, place: Place = {}): Finding => ({
  code,
  message: sentences[code],
  ...place,
});

/** A finding of the chain's rules at its place in the log. */
export const shownFinding = (
  { code, problem, sequence, eventId }: ChainFinding,
  place: Place = {},
): Finding => ({
  code,
  message: code in sentences ? sentences[code as FindingCode] : asSentence(problem),
  ...(sequence !== undefined && { sequence }),
  ...(eventId !== undefined && { eventId }),
  ...place,
});

const asSentence = (problem: string): string => `${problem.charAt(0).toUpperCase()}${problem.slice(1)}.`;
