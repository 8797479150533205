/** The lines of an export, and their form. Signatures and hashes cover every field, so a line has no other ones. */
import type { EventText, LinkFields, Proof } from './hashes.ts';

interface VersionLine {
  readonly kind: 'export';
  readonly version: number;
}

/** The newest first. */
export interface KeyLine {
  readonly kind: 'key';
  readonly number: number;
  readonly keyId: string;
  readonly at: string;
  readonly signed: string;
}

export interface AnchorLine {
  readonly kind: 'anchor';
  readonly organizationId: string;
  readonly number: number;
  readonly at: string;
  readonly signed: string;
}

export interface LinkLine extends LinkFields {
  readonly kind: 'link';
  readonly organizationId: string;
  readonly hash: string;
  readonly linkedOn: string;
  /** Null when retention dropped the event. */
  readonly event: EventText | null;
}

/** After the last link that it covers. */
export interface CheckpointLine {
  readonly kind: 'checkpoint';
  readonly organizationId: string;
  readonly number: number;
  /** The sequence of the newest link that it covers. */
  readonly size: number;
  readonly head: string;
  readonly at: string;
  readonly takenOn?: string;
  readonly previous?: string | null;
  readonly keyId?: string;
  /** The tree head that covers it, or, without an inclusion, the checkpoint itself. */
  readonly signed: string;
  readonly inclusion?: Proof & { readonly treeHead: number };
}

export interface EndLine {
  readonly kind: 'end';
  readonly chains?: number;
  readonly events?: number;
  readonly signed?: string;
}

export type ExportLine = VersionLine | KeyLine | AnchorLine | LinkLine | CheckpointLine | EndLine;

const required: Readonly<Record<string, Readonly<Record<string, 'string' | 'number'>>>> = {
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
  checkpoint: {
    organizationId: 'string',
    number: 'number',
    size: 'number',
    head: 'string',
    at: 'string',
    signed: 'string',
  },
  end: {},
};
const optional: Readonly<Record<string, readonly string[]>> = {
  link: ['event'],
  checkpoint: ['previous', 'keyId', 'takenOn', 'inclusion'],
  end: ['chains', 'events', 'signed'],
};
const eventFields = ['canonical', 'appendedIn', 'seal'];
const inclusionFields = ['treeHead', 'treeSize', 'leafIndex', 'proof'];

/** The line, or the problem with its form. */
export function parseLine(
  text: string,
): { line: ExportLine; problem?: undefined } | { problem: LineProblem; line?: undefined } {
  const line = parse(text);
  if (!line) return { problem: { code: 'EXPORT_LINE_INVALID' } };
  const repeated = JSON.stringify(line) === text ? undefined : duplicateField(text);
  if (repeated !== undefined) return { problem: { code: 'EXPORT_FIELD_REPEATED', field: repeated } };
  const unknown = unknownField(line);
  return unknown === undefined ? { line } : { problem: { code: 'EXPORT_FIELD_UNKNOWN', field: unknown } };
}

export type LineProblem =
  | { readonly code: 'EXPORT_LINE_INVALID' }
  | { readonly code: 'EXPORT_FIELD_REPEATED' | 'EXPORT_FIELD_UNKNOWN'; readonly field: string };

function parse(text: string): ExportLine | undefined {
  try {
    const line = JSON.parse(text);
    if (!Object.hasOwn(required, line?.kind)) return undefined;
    const fields = Object.entries(required[line.kind] ?? {});
    const hasFields = fields.every(([name, type]) => typeof line[name] === type);
    const hasEvent = line.kind !== 'link' || line.event === null || typeof line.event?.canonical === 'string';
    return hasFields && hasEvent && hasInclusion(line) ? line : undefined;
  } catch {
    return undefined;
  }
}

const hasInclusion = ({ inclusion }: { inclusion?: Partial<CheckpointLine['inclusion']> | null }): boolean =>
  inclusion === undefined ||
  (typeof inclusion?.treeHead === 'number' &&
    typeof inclusion.treeSize === 'number' &&
    typeof inclusion.leafIndex === 'number' &&
    Array.isArray(inclusion.proof) &&
    inclusion.proof.every((node) => typeof node === 'string'));

function unknownField(line: ExportLine): string | undefined {
  const known = ['kind', ...Object.keys(required[line.kind] ?? {}), ...(optional[line.kind] ?? [])];
  const inEvent = line.kind === 'link' && line.event ? Object.keys(line.event) : [];
  const inInclusion = line.kind === 'checkpoint' && line.inclusion ? Object.keys(line.inclusion) : [];
  return (
    Object.keys(line).find((field) => !known.includes(field)) ??
    inEvent.find((field) => !eventFields.includes(field)) ??
    inInclusion.find((field) => !inclusionFields.includes(field))
  );
}

/** The first field that is there twice in valid JSON: programs may read different values. */
function duplicateField(json: string): string | undefined {
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
