/** Changes to a real audit export, as an attacker would make them. */
import { generateKeyPairSync, sign } from 'node:crypto';
import type { ExportLine, LinkLine } from '../../../sdk/typescript/src/audit/export-lines.ts';
import { eventHash, firstHash, linkHash, linkRecord } from '../../../src/features/audit/chain/hashes.ts';
import type { FindingCode } from '../../../src/features/audit/findings.ts';

interface Jwks {
  readonly keys: readonly object[];
}

/** Exports of a server with an instance log. All are of one organization unless they say otherwise. */
export interface LoggedExports {
  readonly jwks: Jwks;
  /** Three days; the log has all of it. */
  readonly one: readonly string[];
  /** Several organizations. */
  readonly whole: readonly string[];
  readonly empty: readonly string[];
  /** With a later checkpoint, which the log does not have. */
  readonly later: readonly string[];
  /** The first day, the second one with two checkpoints, and a day without events. */
  readonly firstDay: readonly string[];
  readonly secondDay: readonly string[];
  readonly quietDay: readonly string[];
  /** The same second day, after retention dropped the events of the first. */
  readonly anchoredDay: readonly string[];
  /** A day whose last checkpoint before it was dropped, too. */
  readonly shortenedDay: readonly string[];
  readonly log: {
    readonly key: string;
    /** Of the same name, and of the same key under another name. */
    readonly otherKey: string;
    readonly foreignKey: string;
    readonly witnesses: readonly [string, string];
    /** A note of the log with the cosignatures of these witnesses, by their index; with a root of an attacker, if given. */
    note(
      text: string,
      witnesses: readonly number[],
      changes?: { root?: string; size?: number },
    ): Promise<string>;
  };
  /** The same statement with changed claims, signed by the key of the server. */
  resigned(signed: string, claims: object): string;
}

/** The lines of real exports, and entries of GET /audit/checkpoints. */
export interface RecordedExports {
  readonly jwks: Jwks;
  /** Several organizations. */
  readonly whole: readonly string[];
  /** One organization: two keys, several checkpoints. */
  readonly one: readonly string[];
  /** The same organization after retention has dropped its first events. */
  readonly anchored: readonly string[];
  /** The same organization after retention has dropped its first links and checkpoint. */
  readonly shortened: readonly string[];
  /** An organization without events. */
  readonly empty: readonly string[];
  /** Of the organization in `one`. */
  readonly checkpoint: object;
  readonly firstCheckpoint: object;
  /** Of the organization in `one`, and newer than the export. */
  readonly laterCheckpoint: object;
  readonly other: { readonly jwks: Jwks; readonly checkpoint: object };
  readonly logged: LoggedExports;
}

export interface AuditExportCase {
  readonly name: string;
  /** The keys that the verification trusts. */
  readonly jwks: Jwks;
  readonly lines: readonly string[];
  readonly checkpoint: string | null;
  /** The option `log`. */
  readonly log?: { readonly key: string; readonly witnesses: readonly string[]; readonly quorum?: number };
  /** Of the result; absent when nothing is witnessed. */
  readonly witnessed?: object;
  /** Of the result; absent when the export has all days. */
  readonly day?: string;
  readonly valid: boolean;
  readonly problem?: FindingCode;
}

type Line<Kind extends ExportLine['kind']> = Extract<ExportLine, { kind: Kind }>;
type Change<Kind extends ExportLine['kind']> = (line: Line<Kind>) => object;

export type ExportChanges = ReturnType<typeof createExportChanges>;

/** The changes are to `recorded.one`. */
export function createExportChanges(recorded: Pick<RecordedExports, 'jwks' | 'one'>) {
  const { jwks, one } = recorded;
  const lines = one.map((text) => JSON.parse(text) as ExportLine);

  const accept = (
    name: string,
    accepted: readonly string[],
    more: Partial<AuditExportCase> = {},
  ): AuditExportCase => ({
    name,
    jwks,
    lines: accepted,
    checkpoint: null,
    valid: true,
    ...more,
  });
  const refuse = (
    name: string,
    problem: FindingCode,
    changed: readonly (string | object)[],
    more: Partial<AuditExportCase> = {},
  ): AuditExportCase => ({
    ...accept(
      name,
      changed.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))),
    ),
    valid: false,
    problem,
    ...more,
  });

  /** The place of the line of this kind; -1 is the last of them. */
  const placeOf = (kind: ExportLine['kind'], index: number): number =>
    lines.flatMap((line, place) => (line.kind === kind ? [place] : [])).at(index) as number;
  const changed = <Kind extends ExportLine['kind']>(kind: Kind, index: number, change: Change<Kind>) =>
    one.with(placeOf(kind, index), JSON.stringify(change(lines[placeOf(kind, index)] as Line<Kind>)));
  const removed = (kind: ExportLine['kind'], index: number) => one.toSpliced(placeOf(kind, index), 1);
  const swapped = (first: number, second: number) =>
    one.with(first, one[second] as string).with(second, one[first] as string);

  const canonicalChanged = (line: LinkLine, from: string | RegExp, to: string): LinkLine => ({
    ...line,
    event: line.event && { ...line.event, canonical: line.event.canonical.replace(from, to) },
  });
  const { organizationId } = lines[placeOf('link', 0)] as LinkLine;
  /** The hashes of all links, computed again after a change. */
  const rehashed = (change: (line: LinkLine, index: number) => LinkLine): object[] => {
    let previous = firstHash(organizationId);
    let index = 0;
    return lines.map((line) => {
      if (line.kind !== 'link') return line;
      const link = change(line, index);
      index += 1;
      const hashed = { ...link, eventHash: link.event ? eventHash(link.event) : link.eventHash };
      previous = linkHash(previous, linkRecord(hashed));
      return { ...hashed, hash: previous };
    });
  };

  const foreign = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  /** The same header and claims, or changed ones, signed by a key that is not trusted. */
  const forged = (signed: string, claims: object = {}): string => {
    const [header, payload] = signed.split('.', 2) as [string, string];
    const changedClaims = { ...JSON.parse(`${Buffer.from(payload, 'base64url')}`), ...claims };
    const text = `${header}.${Buffer.from(JSON.stringify(changedClaims)).toString('base64url')}`;
    const key = { key: foreign.privateKey, dsaEncoding: 'ieee-p1363' } as const;
    return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
  };

  return {
    ...{ lines, organizationId, accept, refuse, placeOf, changed, removed, swapped },
    ...{ canonicalChanged, rehashed, forged },
  };
}
