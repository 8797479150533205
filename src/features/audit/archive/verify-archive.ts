/** Verifies an archive without the server and its database: each file against its manifest, and each day against the day before it. */
import { parseLine } from '../../../../sdk/typescript/src/audit/export-lines.ts';
import { splitLines } from '../../../../sdk/typescript/src/audit/read-lines.ts';
import {
  type PublicKey,
  type ReadStatement,
  readSigned,
} from '../../../../sdk/typescript/src/audit/statements.ts';
import { createKeyRows, type KeyRow, trustFrom } from '../../../../sdk/typescript/src/audit/trusted-keys.ts';
import type { ExportVerdict } from '../../../../sdk/typescript/src/audit/verify-export.ts';
import type { CheckpointPolicy } from '../../../../sdk/typescript/src/transparency/judge-checkpoint.ts';
import { type Compression, DamagedFile } from '../../../kernel/ports/compression.ts';
import type { ObjectStorage } from '../../../kernel/ports/object-storage.ts';
import { type Finding, finding } from '../findings.ts';
import { inspectFile, textOf } from './inspect-file.ts';
import { type ArchiveManifest, maxManifestBytes, parseManifest, statementFields } from './manifest.ts';
import { type ArchiveDay, fileName, manifestName, readName } from './names.ts';

export interface ArchiveFilter {
  /** All when left out. */
  readonly organizationId?: string | undefined;
  /** Days, both included. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export interface ArchiveSource {
  readonly storage: ObjectStorage;
  readonly compression: Compression;
}

/** What the archive has of a day. */
export interface ArchivedNames extends ArchiveDay {
  hasFile: boolean;
  hasManifest: boolean;
}

/** In the order of organizations, and of days. */
export async function* archivedNames(
  { storage }: Pick<ArchiveSource, 'storage'>,
  { organizationId, from, to }: ArchiveFilter,
): AsyncGenerator<ArchivedNames, void> {
  let open: ArchivedNames | undefined;
  for await (const { name } of storage.list(organizationId === undefined ? '' : `${organizationId}/`)) {
    const read = readName(name);
    if (!read || (from !== undefined && read.day < from) || (to !== undefined && read.day > to)) continue;
    if (open?.organizationId !== read.organizationId || open.day !== read.day) {
      if (open) yield open;
      open = { organizationId: read.organizationId, day: read.day, hasFile: false, hasManifest: false };
    }
    if (read.kind === 'file') open.hasFile = true;
    else open.hasManifest = true;
  }
  if (open) yield open;
}

/** The manifest of a day, or why it is none. Its signature is not verified. */
export async function readManifestOf(
  { storage }: Pick<ArchiveSource, 'storage'>,
  { organizationId, day }: ArchiveDay,
): Promise<{ manifest: ArchiveManifest; finding?: undefined } | { manifest?: undefined; finding: Finding }> {
  const place = { organizationId };
  const invalid = (reason: string) => ({ finding: finding('ARCHIVE_MANIFEST_INVALID', { reason }, place) });
  const object = await storage.read(manifestName({ organizationId, day }));
  if (!object) return { finding: finding('ARCHIVE_MANIFEST_MISSING', place) };
  if (object.bytes > maxManifestBytes) return invalid(`it has ${object.bytes} bytes`);
  const manifest = parseManifest(String(Buffer.concat(await Array.fromAsync(object.content))));
  if (!manifest) return invalid('it has no manifest of version 1');
  return manifest.organizationId === organizationId && manifest.date === day
    ? { manifest }
    : invalid(`it is of the day ${manifest.date} of organization ${manifest.organizationId}`);
}

export interface VerifyArchiveOptions extends ArchiveSource {
  readonly filter: ArchiveFilter;
  /** The public keys of the instance: those of now are enough. */
  readonly roots: readonly PublicKey[];
  readonly read: ReadStatement;
  readonly log?: CheckpointPolicy | undefined;
  onProgress?(day: ArchiveDay, events: number): void;
}

export interface VerifiedDay extends ArchiveDay {
  readonly events: number;
  readonly finding?: Finding | undefined;
  /** The first day of its organization that was verified: how many links the days before it had. */
  readonly linksBefore?: number;
  readonly witnessed: ExportVerdict['witnessed'];
}

/** Goes on after a finding. Holds one day at a time. */
export async function* verifyArchive(options: VerifyArchiveOptions): AsyncGenerator<VerifiedDay, void> {
  const { filter } = options;
  const keys = await trustedKeys(options);
  let before: DayWithSpan | undefined;
  for await (const names of archivedNames(options, filter)) {
    const { organizationId, day } = names;
    const { verdict, finding: problem } = await verifyDay({ ...options, roots: keys }, names);
    const last = before?.organizationId === organizationId ? before : undefined;
    const { events = 0, witnessed = null, span } = verdict ?? {};
    yield {
      ...{ organizationId, day, events, witnessed },
      ...(!last && span && { linksBefore: span.from.size }),
      finding: problem ?? continuityFinding(last, span),
    };
    before = { organizationId, day, span };
  }
}

type DayWithSpan = ArchiveDay & { readonly span: ExportVerdict['span'] };

/** After a day that could not be read, nothing is compared. */
function continuityFinding(
  before: DayWithSpan | undefined,
  span: ExportVerdict['span'],
): Finding | undefined {
  if (!before?.span || !span) return undefined;
  const { organizationId, from } = span;
  const { to } = before.span;
  const place = { organizationId, sequence: from.size + 1 };
  if (from.number > to.number)
    return finding('ARCHIVE_DAYS_MISSING', { after: before.day, links: from.size - to.size }, place);
  const follows =
    from.number === to.number && from.size === to.size && from.head === to.head && from.hash === to.hash;
  return follows ? undefined : finding('ARCHIVE_DAY_NOT_FOLLOWING', { after: before.day }, place);
}

async function verifyDay(
  { storage, compression, roots, read, log, onProgress }: VerifyArchiveOptions,
  { organizationId, day }: ArchivedNames,
): Promise<{ verdict?: ExportVerdict; finding?: Finding | undefined }> {
  const place = { organizationId };
  const named = await readManifestOf({ storage }, { organizationId, day });
  const object = await storage.read(fileName({ organizationId, day }));
  if (!object) return { finding: finding('ARCHIVE_FILE_MISSING', place) };
  const inspected = await inspectFile(object.content, {
    ...{ compression, roots, read, log },
    onProgress: (events) => onProgress?.({ organizationId, day }, events),
  }).catch((error) => {
    if (!(error instanceof DamagedFile)) throw error;
    return { finding: finding('ARCHIVE_FILE_DAMAGED', { reason: error.message }, place) };
  });
  if ('finding' in inspected) return inspected;
  const { verdict, ...digest } = inspected;
  const { statement, span, events } = verdict;
  if (verdict.finding) return { finding: verdict.finding };
  if (statement?.organizationId !== organizationId || statement.day !== day || !span)
    return { finding: finding('ARCHIVE_FILE_OF_ANOTHER', nameOf(statement), place) };
  if (named.finding) return { verdict, finding: named.finding };
  const { manifest } = named;
  // Decompression may end before the file does.
  const bytes = Math.max(digest.bytes, object.bytes);
  const found = { ...digest, bytes, events, chainHead: span.to.head };
  for (const field of ['bytes', 'sha256', 'events', 'chainHead'] as const)
    if (manifest[field] !== found[field]) {
      const differing = { field, found: found[field], stated: manifest[field] };
      return { verdict, finding: finding('ARCHIVE_FILE_DIFFERS', differing, place) };
    }
  const signed = await readSigned(read, 'archive', manifest.signed, roots);
  const isSigned = signed && statementFields.every((field) => signed[field] === manifest[field]);
  return { verdict, ...(!isSigned && { finding: finding('ARCHIVE_MANIFEST_NOT_SIGNED', place) }) };
}

const nameOf = (statement: ExportVerdict['statement']) => ({
  day: statement?.day ?? 'of no day',
  organizationId: statement?.organizationId ?? 'of none',
});

/** The newest file names all earlier keys, each signed by its successor: files of times before a change of keys can be verified by them. */
async function trustedKeys(options: VerifyArchiveOptions): Promise<readonly PublicKey[]> {
  const { storage, compression, roots, read, filter } = options;
  let newest: ArchiveDay | undefined;
  for await (const names of archivedNames(options, { organizationId: filter.organizationId }))
    if (names.hasFile && names.day >= (newest?.day ?? '')) newest = names;
  const object = newest && (await storage.read(fileName(newest)));
  if (!object) return roots;
  const rows = await readKeys(textOf(compression.decompress(object.content))).catch((error) => {
    if (error instanceof DamagedFile) return [];
    throw error;
  });
  return (await trustFrom(read, roots, rows)).keys;
}

/** The line of the version, and then keys: up to the first line that is none. */
async function readKeys(text: AsyncIterable<string>): Promise<readonly KeyRow[]> {
  const keys = createKeyRows();
  let isFirst = true;
  for await (const lines of splitLines(text))
    for (const each of lines) {
      const { line } = parseLine(each, {});
      const isKey = line?.kind === 'key' && keys.add(line);
      if (!isKey && !(isFirst && line?.kind === 'export')) return keys.rows;
      isFirst = false;
    }
  return keys.rows;
}
