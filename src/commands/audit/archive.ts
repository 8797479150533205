/** `countersign audit archive`: the archive of the audit log. All but `run` need neither the server nor its database. */
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createStatementReader } from '../../adapters/keys/keys.ts';
import {
  type ArchiveDay,
  type ArchiveFilter,
  archivedNames,
  digestOf,
  fileName,
  isDay,
  openArchive,
  readManifestOf,
  type VerifiedDay,
  verifyArchive,
} from '../../audit-app.ts';
import type { ArchiveSettings } from '../../kernel/config/archive.ts';
import { type Environment, loadArchive } from '../../kernel/config/config.ts';
import { ObjectStorageError } from '../../kernel/ports/object-storage.ts';
import { CommandError, exitCodes } from '../command-error.ts';
import type { Io } from '../io.ts';
import { print, printBytes, printError, printJsonLine, printProgress, quoted } from '../terminal.ts';
import { count, describe, readRoots } from './describe.ts';
import { organizationAtServer } from './organization.ts';
import { readTrust, type TrustOptions } from './trust.ts';

export interface PlaceOptions {
  readonly url?: string;
  readonly endpoint?: string;
  readonly region?: string;
}

interface FilterOptions {
  readonly organization?: string;
  readonly from?: string;
  readonly to?: string;
}

/** Options come before the variables. */
export function archiveSettings(env: Environment, { url, endpoint, region }: PlaceOptions): ArchiveSettings {
  const settings = loadArchive({
    ...env,
    ...(url !== undefined && { AUDIT_ARCHIVE_URL: url }),
    ...(endpoint !== undefined && { AUDIT_ARCHIVE_ENDPOINT: endpoint }),
    ...(region !== undefined && { AUDIT_ARCHIVE_REGION: region }),
  });
  if (settings) return settings;
  throw new CommandError(
    'there is no archive: set AUDIT_ARCHIVE_URL, or give --url, e.g. s3://bucket/prefix or file:///folder',
  );
}

type Opened = Awaited<ReturnType<typeof openArchive>>;

async function withArchive<T>(
  { env }: Io,
  options: PlaceOptions,
  work: (archive: Opened) => Promise<T>,
): Promise<T> {
  const archive = await openArchive(archiveSettings(env, options));
  try {
    return await work(archive);
  } catch (error) {
    throw error instanceof ObjectStorageError
      ? new CommandError(error.message, exitCodes.unavailable)
      : error;
  } finally {
    await archive.storage.close();
  }
}

async function filterOf(io: Io, { from, to, ...options }: FilterOptions): Promise<ArchiveFilter> {
  for (const [option, day] of [
    ['--from', from],
    ['--to', to],
  ] as const)
    if (day !== undefined && !isDay(day)) throw new CommandError(`${option} is a day, such as 2030-01-31`);
  if (from !== undefined && to !== undefined && from > to) throw new CommandError('--from is after --to');
  return { organizationId: await organizationAtServer(io, options), from, to };
}

export async function listArchive(
  io: Io,
  options: PlaceOptions & FilterOptions & { readonly json?: boolean },
): Promise<void> {
  const filter = await filterOf(io, options);
  await withArchive(io, options, async (archive) => {
    let days = 0;
    for await (const names of archivedNames(archive, filter)) {
      days += 1;
      if (days === 1 && !options.json)
        print(io, 'date        organization                          events      bytes         sha256');
      const { manifest, finding } = await readManifestOf(archive, names);
      if (manifest && names.hasFile) {
        if (options.json) printJsonLine(io, manifest);
        else
          print(
            io,
            [
              ...[names.day, names.organizationId, String(manifest.events).padEnd(10)],
              ...[String(manifest.bytes).padEnd(12), quoted(manifest.sha256)],
            ].join('  '),
          );
        continue;
      }
      io.exitCode = 1;
      const problem = finding?.problem ?? 'the manifest of the day is there, and its file is not';
      printError(io, `${names.day}  ${names.organizationId}  ${quoted(problem)}`);
    }
    if (days === 0) printError(io, `There are no archived days in ${archive.storage.location}.`);
  });
}

export async function getArchive(
  io: Io,
  date: string,
  options: PlaceOptions & { readonly organization: string; readonly output?: string },
): Promise<void> {
  if (!isDay(date)) throw new CommandError(`${date} is no day; give one such as 2030-01-31`);
  const { organizationId } = await filterOf(io, { organization: options.organization });
  const day = { organizationId: organizationId as string, day: date };
  await withArchive(io, options, async (archive) => {
    const object = await archive.storage.read(fileName(day));
    if (!object)
      throw new CommandError(
        `${archive.storage.location} has no file of ${date} of organization ${day.organizationId}: \`countersign audit archive list\` shows the days`,
        exitCodes.notFound,
      );
    const file = digestOf(object.content);
    const output = options.output ?? `audit-${day.organizationId}-${date}.jsonl.zst`;
    if (output === '-') for await (const chunk of file.content) await printBytes(io, chunk);
    else await saveFile(output, file.content, () => checkDigest(archive, day, file.digest()));
    if (output === '-') await checkDigest(archive, day, file.digest());
    else print(io, output);
  });
}

/** Under its name only when it is whole. */
async function saveFile(
  output: string,
  content: AsyncIterable<Uint8Array>,
  check: () => Promise<void>,
): Promise<void> {
  const unfinished = `${output}.unfinished`;
  try {
    await pipeline(
      Readable.from(content, { objectMode: false }),
      createWriteStream(unfinished, { mode: 0o600 }),
    );
    await check();
    await rename(unfinished, output);
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => {});
    const { code, message, path } = error as NodeJS.ErrnoException;
    if (path === undefined || code === undefined) throw error;
    throw new CommandError(`cannot write: ${message}`);
  }
}

async function checkDigest(
  archive: Opened,
  day: ArchiveDay,
  { bytes, sha256 }: { bytes: number; sha256: string },
): Promise<void> {
  const { manifest, finding } = await readManifestOf(archive, day);
  if (finding) throw new CommandError(`the file cannot be checked: ${quoted(finding.problem)}`);
  if (manifest.sha256 !== sha256 || manifest.bytes !== bytes)
    throw new CommandError(
      'the file is not the one of its manifest: it was changed or is not complete. `countersign audit archive verify` says more',
    );
}

interface VerifyOptions extends PlaceOptions, FilterOptions, TrustOptions {
  readonly keys?: string;
}

export async function verifyArchiveFiles(io: Io, options: VerifyOptions): Promise<void> {
  const filter = await filterOf(io, options);
  const log = readTrust(options);
  const roots = await readRoots(io, options);
  await withArchive(io, options, async (archive) => {
    const report = createReport(io, log !== undefined);
    const days = verifyArchive({
      ...archive,
      ...{ filter, roots, log },
      read: createStatementReader(),
      onProgress: ({ organizationId, day }, events) =>
        printProgress(io, `${organizationId}  ${day}  ${events} events`),
    });
    for await (const day of days) report.add(day);
    report.end(archive.storage.location, filter);
  });
}

/** A line for each finding, and one for each organization. */
function createReport(io: Io, isWitnessed: boolean) {
  const total = { days: 0, events: 0, findings: 0, organizations: 0, unwitnessed: 0 };
  let open:
    | { first: VerifiedDay; last: VerifiedDay; days: number; events: number; findings: number }
    | undefined;

  const close = () => {
    if (!open) return;
    const { first, last, days, events, findings } = open;
    const before = first.linksBefore;
    print(
      io,
      `${first.organizationId}  ${first.day} to ${last.day}: ${count(days, 'day')}, ${events} events, ${findings === 0 ? 'intact' : `${count(findings, 'finding')}`}${
        before ? `; ${before} earlier links are not in what was verified` : ''
      }`,
    );
    open = undefined;
  };

  return {
    add(day: VerifiedDay) {
      printProgress(io, '');
      if (open?.first.organizationId !== day.organizationId) {
        close();
        total.organizations += 1;
      }
      open ??= { first: day, last: day, days: 0, events: 0, findings: 0 };
      open.last = day;
      for (const sum of [open, total]) {
        sum.days += 1;
        sum.events += day.events;
        if (day.finding) sum.findings += 1;
      }
      if (!day.finding) {
        total.unwitnessed += day.events - (day.witnessed?.events ?? 0);
        return;
      }
      print(io, `${describe(day.finding)}\n  date          ${day.day}`);
    },
    end(location: string, { organizationId }: ArchiveFilter) {
      close();
      if (total.days === 0)
        throw new CommandError(
          `${location} has no archived days${organizationId === undefined ? '' : ` of organization ${organizationId}`} in this range`,
          exitCodes.notFound,
        );
      const { days, events, findings, organizations } = total;
      const sum = `${count(days, 'day')} of ${count(organizations, 'organization')}, ${events} events`;
      if (findings === 0) {
        print(io, `The archive is intact${isWitnessed ? ' and witnessed' : ''}: ${sum}.`);
        if (isWitnessed && total.unwitnessed > 0)
          print(io, `  not witnessed ${total.unwitnessed} events: their days were archived without a quorum`);
      } else {
        print(io, `The archive is NOT INTACT: ${count(findings, 'finding')} in ${sum}.`);
        io.exitCode = 1;
      }
    },
  };
}
