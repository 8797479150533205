/** GET /audit/archives: the days that are archived, and their files as they are stored. A slow client holds no database connection. */
import type { ArchiveStatement } from '../../../../sdk/typescript/src/audit/statements.ts';
import { limits } from '../../../contract/limits.ts';
import type { Caller } from '../../../kernel/caller.ts';
import type { Db } from '../../../kernel/data/db.ts';
import { fail } from '../../../kernel/fail.ts';
import { validationError } from '../../../kernel/http/input/validation.ts';
import { type Page, type PageRequest, pageOf } from '../../../kernel/http/page.ts';
import type { AccessCheck } from '../../../kernel/http/route.ts';
import { type ObjectStorage, ObjectStorageError } from '../../../kernel/ports/object-storage.ts';
import { createSlots } from '../export/slots.ts';
import { organizationOf } from '../log-owner.ts';
import type { Alarm } from './alarm.ts';
import { ArchiveFault } from './fault.ts';
import { digestOf } from './inspect-file.ts';
import { createObjects } from './objects.ts';
import { type ArchiveRow, type DayRange, findArchive, listArchives } from './store.ts';

export interface ArchiveListQuery extends PageRequest, DayRange {
  readonly organizationId?: string | undefined;
}

export type ArchivedDay = Omit<ArchiveStatement, 'organizationId'>;

export interface ArchiveFileRequest {
  readonly caller: Caller;
  readonly organizationId: string | undefined;
  readonly date: string;
  /** Aborted when the response has ended, for any reason. */
  readonly ended: AbortSignal;
  recheckAccess(): Promise<AccessCheck>;
}

export interface ArchiveService {
  list(caller: Caller, query: ArchiveListQuery): Promise<Page<ArchivedDay>>;
  /** The name of the file for the client, its size, and its content. */
  open(
    request: ArchiveFileRequest,
  ): Promise<{ name: string; bytes: number; content: AsyncIterable<Uint8Array> }>;
}

interface ArchiveServiceDeps {
  readonly db: Db;
  /** Undefined when no archive is configured. */
  readonly storage: ObjectStorage | undefined;
  readonly alarm: Alarm;
  readonly stallMs: number;
}

const bytesPerCheck = 131_072;

export function createArchiveService({ db, storage, alarm, stallMs }: ArchiveServiceDeps): ArchiveService {
  const reserve = createSlots(
    { one: 'a download of an archived day', many: 'downloads of archived days' },
    limits.auditArchiveDownloads,
  );

  /** What a read of the storage has thrown. The client learns only that it cannot have the file now. */
  const report = (row: ArchiveRow, error: unknown): never => {
    if (!(error instanceof ArchiveFault) && !(error instanceof ObjectStorageError)) throw error;
    const cause = error instanceof ArchiveFault ? error.cause : 'storage';
    alarm.raiseUnreadable(row, new ArchiveFault(cause, error.message));
    return fail('SERVICE_UNAVAILABLE', {
      message: `The archived file of ${row.day} cannot be read now. The operator of this instance was told; try again later.`,
      headers: { 'retry-after': '60' },
      isLogged: true,
    });
  };

  async function* contentOf(
    row: ArchiveRow,
    source: AsyncIterable<Uint8Array>,
    { ended, recheckAccess }: ArchiveFileRequest,
  ): AsyncGenerator<Uint8Array, void> {
    const file = digestOf(source);
    let unchecked = 0;
    /** The last chunk waits until the file is known to be whole: a client never gets a wrong file to its end. */
    let held: Uint8Array | undefined;
    for await (const chunk of file.content) {
      if (ended.aborted) throw new Error('the client has gone, or the server closes');
      unchecked += chunk.length;
      if (unchecked >= bytesPerCheck) {
        if ((await recheckAccess()) !== 'allowed')
          throw new Error('the caller may no longer read the audit log');
        unchecked = 0;
      }
      if (held) yield held;
      held = chunk;
    }
    const { bytes, sha256 } = file.digest();
    if (bytes !== row.bytes || sha256 !== row.sha256) throw notTheFile(row, storage as ObjectStorage);
    if (held) yield held;
    alarm.clearUnreadable(row);
  }

  /** Failures of the storage after the response has begun: the connection breaks off. */
  async function* reported(
    row: ArchiveRow,
    content: AsyncIterable<Uint8Array>,
    ended: AbortSignal,
  ): AsyncGenerator<Uint8Array, void> {
    try {
      yield* content;
    } catch (error) {
      if (ended.aborted) throw error;
      report(row, error);
    }
  }

  return {
    async list(caller, { organizationId: requested, ...query }) {
      const organizationId = organizationOf(caller, requested);
      if (query.from !== undefined && query.to !== undefined && query.from > query.to)
        throw validationError('query', [{ in: 'query', field: 'from', message: 'must not be after to' }]);
      if (!storage) return pageOf(query, [], 0);
      const { rows, total } = await listArchives(db, organizationId, query);
      return pageOf(query, rows.map(dayOf), total);
    },

    async open(request) {
      const { caller, date, ended } = request;
      const organizationId = organizationOf(caller, request.organizationId);
      const row = storage && (await findArchive(db, { organizationId, day: date }));
      if (!row) return fail('ARCHIVE_NOT_FOUND');
      reserve(caller, ended);
      const objects = createObjects(storage, stallMs);
      const object = await objects.open(row.object, ended).catch((error) => report(row, error));
      if (!object || object.bytes !== row.bytes) return report(row, notTheFile(row, storage));
      const content = contentOf(row, object.content, request);
      return {
        name: `audit-${organizationId}-${date}.jsonl.zst`,
        bytes: row.bytes,
        content: reported(row, content, ended),
      };
    },
  };
}

const notTheFile = ({ object }: ArchiveRow, { location }: ObjectStorage) =>
  new ArchiveFault(
    'content',
    `${location}/${object} is gone, or is not the file that was archived. Restore it from a copy: \`countersign audit archive verify\` checks all files`,
  );

const dayOf = ({ day: date, events, bytes, sha256, chainHead, createdAt }: ArchiveRow): ArchivedDay => ({
  date,
  events,
  bytes,
  sha256,
  chainHead,
  createdAt,
});
