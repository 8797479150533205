/** The problems that an export can have. `countersign audit verify` uses the same codes. */

const sentences = {
  LINK_MISSING: 'a link is missing, or not in its place',
  LINK_HASH_MISMATCH: 'the hash of the link does not follow from the link before it',
  LINK_DAY_MISMATCH: 'the link is stored under another day than its checkpoint',
  LINKS_WITHOUT_CHECKPOINT: 'there are links that no checkpoint covers',
  EVENT_MISSING: 'the event is missing, and retention did not drop its day',
  EVENT_CHANGED: 'the hash of the event is not the hash in its link',
  EVENT_TEXT_INVALID: 'the text of the event is not a JSON object',
  EVENT_TEXT_OF_ANOTHER: 'the text of the event names another organization, event or time than its link',
  CHECKPOINT_NOT_FOLLOWING: 'a checkpoint is missing, or does not follow from the one before it',
  CHECKPOINT_HEAD_MISMATCH: 'the size or head hash of the checkpoint is not that of its last link',
  CHECKPOINT_NOT_SIGNED: 'the checkpoint has no valid signature by a trusted key',
  INCLUSION_PROOF_INVALID: 'the checkpoint is not in the tree that its tree head signs',
  TREE_HEAD_NOT_SIGNED: 'the tree head has no valid signature by a trusted key',
  ANCHOR_NOT_SIGNED: 'the anchor has no valid signature by a trusted key',
  KEY_NOT_TRUSTED: 'no trusted key has signed the statement of a signing key',
  KEY_NOT_NAMED: 'the signing key is not the one that its successor names',
  KEY_ROW_DIFFERS: 'the line of a signing key differs from its signed statement',
  FIRST_KEY_MISSING: 'the first signing key is missing',
  EXTERNAL_CHECKPOINT_MISSING: 'the export does not contain your checkpoint',
  EXPORT_LINE_INVALID: 'the line is not a line of an export',
  EXPORT_FIELD_REPEATED: 'the line has a field twice: programs may read different values',
  EXPORT_FIELD_UNKNOWN: 'the line has a field that an export does not have: nothing proves its value',
  EXPORT_HEADER_INVALID: 'the export does not begin with one line of the kind "export"',
  EXPORT_VERSION_UNKNOWN: 'the export has an unknown version',
  EXPORT_TRUNCATED: 'the export is not complete: its last line is missing',
  EXPORT_CONTINUES: 'the export has lines after its last line',
  EXPORT_NOT_SIGNED: 'the last line has no valid signature by a trusted key',
  EXPORT_WITHOUT_STATEMENT: 'the last line is not signed, so whole chains may be missing',
  EXPORT_CHAIN_COUNT: 'the export has another number of chains than its signed statement',
  EXPORT_EVENT_COUNT: 'the export has another number of events than its signed statement',
  EXPORT_CHAINS_DIFFER: 'the chains of the export are not those of its signed statement',
  EXPORT_NUMBERS_DIFFER: 'the numbers in the last line differ from its signed statement',
  EXPORT_UNSIGNED_COUNT: 'the export has another number of events than its last line says',
} as const;

export type AuditProblemCode = keyof typeof sentences;

/** Where the problem is, as far as it is known. */
export interface AuditProblemPlace {
  readonly organizationId?: string | undefined;
  readonly sequence?: number | undefined;
  readonly eventId?: string | undefined;
}

export interface AuditProblem extends AuditProblemPlace {
  readonly code: AuditProblemCode;
  readonly message: string;
}

export const problem = (code: AuditProblemCode, place: AuditProblemPlace = {}): AuditProblem => ({
  ...place,
  code,
  message: sentences[code],
});

export const isProblem = (value: object): value is AuditProblem => 'code' in value;
