/** The lines of an export: JSON, one object per line, in this order. Evidence is grouped by organization. */
import { isHash } from '../transparency/hash.ts';
import { type Finding, type FindingPlace, finding } from './findings.ts';
import type { EventText, Link } from './hashes.ts';
import type { AnchorRow, CheckpointRow, Inclusion } from './statements.ts';
import type { KeyRow } from './trusted-keys.ts';

/** The version that exports are written in. */
export const exportVersion = 2;

/** Version 1 has no lines of the kinds `start` and `logProof`. */
export const knownVersions: readonly number[] = [1, 2];

/** Far more than any line has. */
export const maxLineLength = 16 * 1024 * 1024;

export interface VersionLine {
  readonly kind: 'export';
  readonly version: number;
}

/** The newest first. */
export interface KeyLine extends KeyRow {
  readonly kind: 'key';
}

export interface AnchorLine extends AnchorRow {
  readonly kind: 'anchor';
  readonly organizationId: string;
}

/**
 * The last checkpoint before the day of the export: the chain goes on from it. Only in the export of a day, first in its chain or directly
 * after the anchor.
 */
export interface StartLine extends CheckpointRow {
  readonly kind: 'start';
  readonly takenOn: string;
}

export interface LinkLine extends Link {
  readonly kind: 'link';
  readonly organizationId: string;
  /** Null when retention dropped the event. */
  readonly event: EventText | null;
}

/** After the last link that it covers. */
export interface CheckpointLine extends CheckpointRow {
  readonly kind: 'checkpoint';
  readonly takenOn: string;
}

/**
 * Where the instance log has the tree head of the checkpoint in the line before. At most one per chain: after its newest checkpoint that
 * the log had. All of them in a file have the same `checkpoint`.
 */
export interface LogProofLine {
  readonly kind: 'logProof';
  readonly organizationId: string;
  /** Of the checkpoint in the line before, and of its tree head. */
  readonly number: number;
  readonly treeHead: number;
  readonly leafIndex: number;
  readonly treeSize: number;
  readonly proof: readonly string[];
  /** The checkpoint of the instance log: a signed note, with the cosignatures of its witnesses. */
  readonly checkpoint: string;
}

export interface EndLine {
  readonly kind: 'end';
  readonly chains: number;
  readonly events: number;
  /** The manifest as a signed statement. Exports of earlier versions have none. */
  readonly signed?: string;
}

export type ExportLine =
  | VersionLine
  | KeyLine
  | AnchorLine
  | StartLine
  | LinkLine
  | CheckpointLine
  | LogProofLine
  | EndLine;

/** The line, or what is wrong with its form. `place` is that of the chain before it. */
export function parseLine(
  text: string,
  place: FindingPlace,
): { line: ExportLine; finding?: undefined } | { line?: undefined; finding: Finding } {
  const line = parse(text);
  if (!line) return { finding: finding('EXPORT_LINE_INVALID', place) };
  const problem = fieldFinding(text, line, place);
  return problem ? { finding: problem } : { line };
}

/** The fields that the rules read; the others are optional in exports of earlier versions. */
const checkpointFields = {
  organizationId: 'string',
  number: 'number',
  size: 'number',
  head: 'string',
  at: 'string',
  signed: 'string',
} as const;
const requiredFields: Readonly<Record<ExportLine['kind'], Readonly<Record<string, 'string' | 'number'>>>> = {
  export: { version: 'number' },
  key: { number: 'number', keyId: 'string', at: 'string', signed: 'string' },
  anchor: { organizationId: 'string', number: 'number', at: 'string', signed: 'string' },
  link: {
    organizationId: 'string',
    sequence: 'number',
    eventId: 'string',
    time: 'string',
    eventHash: 'string',
    hash: 'string',
    linkedOn: 'string',
  },
  checkpoint: checkpointFields,
  start: checkpointFields,
  logProof: {
    organizationId: 'string',
    number: 'number',
    treeHead: 'number',
    leafIndex: 'number',
    treeSize: 'number',
    checkpoint: 'string',
  },
  end: {},
};

/** Fields beside the required ones. Signatures and hashes cover the values of all fields, so a line has no other. */
const optionalFields: Readonly<Partial<Record<ExportLine['kind'], readonly string[]>>> = {
  link: ['event'],
  checkpoint: ['previous', 'keyId', 'takenOn', 'inclusion'],
  start: ['previous', 'keyId', 'takenOn', 'inclusion'],
  logProof: ['proof'],
  end: ['chains', 'events', 'signed'],
};
const eventFields = ['canonical', 'appendedIn', 'seal'];
const inclusionFields = ['treeHead', 'treeSize', 'leafIndex', 'proof'];

/** A repeated or unknown field: another program may read a value here that was not verified. */
function fieldFinding(text: string, line: ExportLine, place: FindingPlace): Finding | undefined {
  const repeated = JSON.stringify(line) === text ? undefined : duplicateField(text);
  if (repeated !== undefined) return finding('EXPORT_FIELD_REPEATED', { field: repeated }, place);
  const known = ['kind', ...Object.keys(requiredFields[line.kind]), ...(optionalFields[line.kind] ?? [])];
  const inEvent = line.kind === 'link' && line.event ? Object.keys(line.event) : [];
  const isCheckpoint = line.kind === 'checkpoint' || line.kind === 'start';
  const inInclusion = isCheckpoint && line.inclusion ? Object.keys(line.inclusion) : [];
  const unknown =
    Object.keys(line).find((field) => !known.includes(field)) ??
    inEvent.find((field) => !eventFields.includes(field)) ??
    inInclusion.find((field) => !inclusionFields.includes(field));
  return unknown === undefined ? undefined : finding('EXPORT_FIELD_UNKNOWN', { field: unknown }, place);
}

function parse(text: string): ExportLine | undefined {
  if (text.length > maxLineLength) return undefined;
  try {
    const line = JSON.parse(text);
    if (typeof line?.kind !== 'string' || !Object.hasOwn(requiredFields, line.kind)) return undefined;
    const fields = Object.entries(requiredFields[line.kind as ExportLine['kind']]);
    const hasFields = fields.every(([name, type]) => typeof line[name] === type);
    const hasInclusion = line.inclusion === undefined || isInclusion(line.inclusion);
    const hasLink = line.kind !== 'link' || (isLink(line) && (line.event === null || isEvent(line.event)));
    const hasProof = line.kind !== 'logProof' || isListOfTexts(line.proof);
    return hasFields && hasLink && hasInclusion && hasProof ? line : undefined;
  } catch {
    return undefined;
  }
}

const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
const isoTime = /^\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z$/;

/** Each value has one spelling: its record has no separators, and no event proves the values of a link whose event retention dropped. */
const isLink = ({ eventId, time, eventHash }: Link): boolean =>
  uuid.test(eventId) && isoTime.test(time) && isHash(eventHash);

/** Its hash is that of a text, in which a number or a list looks like a string. */
const isEvent = (value: Partial<EventText> | undefined): boolean =>
  typeof value?.canonical === 'string' &&
  typeof value.appendedIn === 'string' &&
  typeof value.seal === 'string';

const isInclusion = (value: Partial<Inclusion> | null): boolean =>
  typeof value?.treeHead === 'number' &&
  typeof value.treeSize === 'number' &&
  typeof value.leafIndex === 'number' &&
  isListOfTexts(value.proof);

const isListOfTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');

/** The first field that is there twice in valid JSON: programs may read different values. */
export function duplicateField(json: string): string | undefined {
  const open: (Set<string> | undefined)[] = [];
  let text = '';
  for (let at = 0; at < json.length; at += 1) {
    const char = json[at];
    if (char === '{') open.push(new Set());
    else if (char === '[') open.push(undefined);
    else if (char === '}' || char === ']') open.pop();
    else if (char === '"') {
      const start = at;
      at += 1;
      while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
      text = json.slice(start, at + 1);
    } else if (char === ':') {
      const name: string = JSON.parse(text);
      const names = open.at(-1);
      if (names?.has(name)) return name;
      names?.add(name);
    }
  }
  return undefined;
}
