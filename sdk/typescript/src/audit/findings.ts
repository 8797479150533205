/**
 * The findings of verification: each code with its sentence, for an export, the database and the console alike. The server adds those
 * that only a database can have.
 */

/** A name in a file can be as long as the file. */
const shortened = (name: string): string => (name.length > 100 ? `${name.slice(0, 100)}…` : name);

const sentences = {
  // Links and events
  LINK_MISSING: ({ expected }: { expected: number }) => `link ${expected} is missing`,
  LINK_HASH_MISMATCH: () => 'the hash of the link does not follow from the link before it',
  LINK_DAY_MISMATCH: () => 'the link is stored under another day than its checkpoint',
  LINKS_WITHOUT_CHECKPOINT: () => 'there are links that no checkpoint covers',
  EVENT_MISSING: () => 'the event is missing, and retention did not drop its day',
  EVENT_CHANGED: () => 'the hash of the event is not the hash in its link',
  EVENT_TEXT_OF_ANOTHER: () =>
    'the text of the event names another organization, event or time than its link',
  EVENT_TEXT_INVALID: () => 'the text of the event is not a JSON object',

  // Checkpoints, tree heads and anchors
  CHECKPOINT_NOT_FOLLOWING: ({ number }: { number: number }) =>
    `checkpoint ${number} is missing or does not follow from the one before it`,
  CHECKPOINT_HEAD_MISMATCH: ({ number }: { number: number }) =>
    `the size or head hash of checkpoint ${number} is not that of its last link`,
  CHECKPOINT_NOT_SIGNED: ({ number }: { number: number }) =>
    `checkpoint ${number} has no valid signature by a trusted key`,
  INCLUSION_PROOF_INVALID: ({ number }: { number: number }) =>
    `checkpoint ${number} is not in the tree that its tree head signs`,
  TREE_HEAD_MISSING: ({ number }: { number: number }) => `tree head ${number} is missing`,
  TREE_HEAD_NOT_SIGNED: ({ number }: { number: number }) =>
    `tree head ${number} has no valid signature by a trusted key`,
  ANCHOR_NOT_SIGNED: ({ number }: { number: number }) =>
    `anchor ${number} has no valid signature by a trusted key`,
  EXTERNAL_CHECKPOINT_MISSING: ({ number }: { number?: number }) =>
    number === undefined
      ? 'the external checkpoint is not in the log'
      : `the external checkpoint ${number} is not in the log`,

  // The instance log and its witnesses
  LOG_PROOF_INVALID: ({ reason }: { reason: string }) =>
    `nothing proves that the instance log has the checkpoint: ${reason}`,
  LOG_CHECKPOINT_NOT_SIGNED: ({ reason }: { reason: string }) =>
    `the checkpoint of the instance log is not signed by its keys: ${reason}`,
  LOG_QUORUM_MISSING: ({ lacking, absent }: { lacking?: number; absent: readonly string[] }) =>
    lacking === undefined
      ? 'there is no proof that the instance log has it, so no witness has seen it'
      : `witnesses that must have cosigned the checkpoint of the instance log: ${lacking} more of ${absent.join(', ')}`,
  LOG_FORKED: ({ size }: { size: number }) =>
    `the instance log has signed two histories: its checkpoint of size ${size} is not consistent with another one`,
  LOG_SHORTENED: ({ size, known }: { size: number; known: number }) =>
    `the instance log has ${size} entries, and it had ${known} before`,

  // Signing keys
  KEY_NOT_TRUSTED: ({ number }: { number: number }) => `signing key ${number} is signed by no trusted key`,
  KEY_NOT_NAMED: ({ number }: { number: number }) =>
    `signing key ${number} is not the one that its successor names`,
  KEY_ROW_DIFFERS: ({ number }: { number: number }) =>
    `the row of signing key ${number} differs from its signed statement`,
  FIRST_KEY_MISSING: () => 'the first signing key is missing',

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
  EXPORT_DAY_MISMATCH: ({ day }: { day: string }) =>
    `the signed statement is of the whole day ${shortened(day)} of one organization, and the export has another content`,
  EXPORT_DAY_MISSING: () =>
    'the export begins within a chain, and its signed statement does not say that it has one day only',
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

// biome-ignore lint/suspicious/noExplicitAny: the parameters of a sentence are its own
type Sentences = Readonly<Record<string, (parameters: any) => string>>;
export type FindingCode = keyof typeof sentences;

/** Where the finding is. Without an organization it concerns the instance's own keys, or an export as a whole. */
export interface FindingPlace {
  readonly organizationId?: string | undefined;
  readonly sequence?: number | undefined;
  readonly eventId?: string | undefined;
}

export interface Finding<Code extends string = FindingCode> extends FindingPlace {
  readonly code: Code;
  /** The sentence of the code. */
  readonly problem: string;
}

/** A function that makes findings: `finding('LINK_MISSING', { expected: 5 })`; codes without parameters take the place alone. */
export const createFinding =
  <S extends Sentences>(sentences: S) =>
  <Code extends keyof S & string>(
    code: Code,
    ...[first, second]: Parameters<S[Code]> extends []
      ? [place?: FindingPlace]
      : [parameters: Parameters<S[Code]>[0], place?: FindingPlace]
  ): Finding<Code> => {
    const sentence = sentences[code] as (parameters: unknown) => string;
    const place = (sentence.length === 0 ? first : second) as FindingPlace | undefined;
    return { ...place, code, problem: sentence(first) };
  };

export const finding = createFinding(sentences);
export { sentences as chainSentences };
