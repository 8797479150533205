/** An audit log with an archive: another node on the database of an app, with a storage that a test can make fail. */
import assert from 'node:assert/strict';
import { createHash, createPublicKey } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { createSigner, createStatementReader, describePublicKey } from '../../../src/adapters/keys/keys.ts';
import { openFolder } from '../../../src/adapters/object-storage/file.ts';
import { createPostgres } from '../../../src/adapters/postgres/postgres.ts';
import { zstd } from '../../../src/adapters/zstd.ts';
import { inspectFile } from '../../../src/features/audit/archive/inspect-file.ts';
import { fileName, manifestName } from '../../../src/features/audit/archive/names.ts';
import { createAudit } from '../../../src/features/audit/feature.ts';
import type { LogEvidence } from '../../../src/features/instance-log/feature.ts';
import { loadConfig } from '../../../src/kernel/config/config.ts';
import { createLog } from '../../../src/kernel/observability/log.ts';
import { createMetrics } from '../../../src/kernel/observability/metrics.ts';
import { type ObjectStorage, ObjectStorageError } from '../../../src/kernel/ports/object-storage.ts';
import { environment, type TestApp } from '../harness.ts';
import { recordEvents } from './audit-log.ts';

export const dayMs = 86_400_000;
export const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

/** To an hour after the next midnight. */
export function toNextDay({ clock }: Pick<TestApp, 'clock'>): void {
  clock.advance(dayMs - (clock.now() % dayMs) + 3_600_000);
}

/** What a storage does wrong. A hook that throws stands for a process that was killed there. */
export interface Faults {
  beforeCreate?(name: string): void | Promise<void>;
  /** After each chunk that was read of the content. */
  onChunk?(name: string, chunks: number): void | Promise<void>;
  afterCreate?(name: string): void | Promise<void>;
  beforeRead?(name: string): void | Promise<void>;
  onReadChunk?(name: string): void | Promise<void>;
}

/** An archive in a folder of the test, with faults that can be changed. */
export function openFaultyFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-archive-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const inner = openFolder(folder);
  const created = new Map<string, number>();
  let faults: Faults = {};
  async function* watched(
    name: string,
    content: AsyncIterable<Uint8Array>,
    hook: ((name: string, chunks: number) => void | Promise<void>) | undefined,
  ) {
    let chunks = 0;
    for await (const chunk of content) {
      yield chunk;
      chunks += 1;
      await hook?.(name, chunks);
    }
  }
  const storage: ObjectStorage = {
    ...inner,
    async create(name, content, options) {
      await faults.beforeCreate?.(name);
      const result = await inner.create(name, watched(name, content, faults.onChunk), options);
      if (result === 'created') created.set(name, (created.get(name) ?? 0) + 1);
      await faults.afterCreate?.(name);
      return result;
    },
    async read(name, signal) {
      await faults.beforeRead?.(name);
      const object = await inner.read(name, signal);
      return object && { ...object, content: watched(name, object.content, faults.onReadChunk) };
    },
  };
  return {
    folder,
    storage,
    /** How often each name was created. */
    created,
    setFaults(next: Faults) {
      faults = next;
    },
    pathOf: (name: string) => join(folder, name),
    /** All files of days and manifests. */
    names: () => Array.fromAsync(inner.list(''), ({ name }) => name),
    /** Puts another content in the place of a file. */
    replace(name: string, content: Uint8Array) {
      rmSync(join(folder, name));
      writeFileSync(join(folder, name), content);
    },
  };
}

export async function* inPieces(bytes: Uint8Array, size = 1_000): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

export const failing = (message: string) => new ObjectStorageError(message);

/** The audit log of another process, with the same keys and the clock of the app. */
export async function openArchivingNode(
  { databaseUrl, clock }: TestApp,
  storage: ObjectStorage,
  { stallMs, evidence }: { stallMs?: number; evidence?: LogEvidence } = {},
) {
  const lines: Record<string, unknown>[] = [];
  const log = createLog({
    level: 'info',
    destination: { write: (line) => void lines.push(JSON.parse(line)) },
  });
  const metrics = createMetrics();
  // One connection must be enough.
  const db = createPostgres({ url: databaseUrl, poolSize: 1, log, metrics });
  after(() => db.close());
  const { signingKeys, baseUrl: issuer } = loadConfig(environment(databaseUrl));
  const signer = await createSigner({ ...signingKeys, previousPublicKeys: [], issuer, clock });
  const audit = createAudit({
    ...{ db, clock, log, metrics, signer },
    readStatement: createStatementReader(),
    logEvidence: evidence,
    archive: {
      storage,
      compression: zstd,
      pace: (portion) => portion(),
      hasWitnesses: evidence !== undefined,
      stallMs,
    },
  });
  const { archiving } = audit;
  if (!archiving) throw new Error('no archive');
  return {
    audit,
    archiving,
    db,
    lines,
    /** Lines of the alarm. */
    alarms: () => lines.filter(({ level }) => level === 50),
    metric: async (name: string) =>
      Number(
        (await metrics.text())
          .split('\n')
          .find((line) => line.startsWith(name))
          ?.split(' ')
          .at(-1),
      ),
  };
}

type Folder = ReturnType<typeof openFaultyFolder>;

/** Days of an app that other nodes archive, one test after the other. */
export async function createArchiveDays(t: TestApp) {
  const roots = [await describePublicKey(createPublicKey(environment(t.databaseUrl).JWT_PUBLIC_KEY))];
  const read = createStatementReader();
  const rowsOf = (organizationId: string) =>
    t.sql<{ day: string; object: string; sha256: string }>(
      `select day::text, object, encode(sha256, 'hex') as sha256 from audit_archives
       where organization_id = $1 order by day`,
      [organizationId],
    );
  const inspect = (folder: Folder, name: string) =>
    inspectFile(inPieces(readFileSync(folder.pathOf(name))), { compression: zstd, roots, read });
  return {
    roots,
    read,
    rowsOf,
    inspect,
    newOrganizations: () => [t.app.ids.uuid(), t.app.ids.uuid()].sort() as [string, string],
    /** A day that is over, with events of these organizations. Returns its date. */
    async passDay(organizations: readonly string[], events = 5): Promise<string> {
      toNextDay(t);
      await t.app.audit.prepare();
      const day = dayOf(t.clock.now());
      for (const organizationId of organizations) await recordEvents(t, organizationId, events);
      await t.app.audit.linkAll();
      toNextDay(t);
      await t.app.audit.prepare();
      return day;
    },
    /** Days of earlier tests do not matter. */
    async forgetEarlierDays(): Promise<void> {
      await t.app.audit.linkAll();
      await t.sql(
        `insert into audit_archives
         select distinct organization_id, taken_on, 0, 0, sha256(''), sha256(''), '', now() from audit_segments
         on conflict do nothing`,
      );
    },
    /** The day of these organizations is archived, once, and intact. */
    async assertOnce(folder: Folder, organizations: readonly string[], day: string): Promise<void> {
      const names = await folder.names();
      for (const organizationId of organizations) {
        const name = fileName({ organizationId, day });
        const [row, ...others] = await rowsOf(organizationId);
        assert.deepEqual([row?.day, row?.object, others], [day, name, []]);
        assert.equal(sha256(readFileSync(folder.pathOf(name))), row?.sha256);
        assert.deepEqual(
          names.filter((each) => each.startsWith(organizationId)),
          [name, manifestName({ organizationId, day })],
        );
        assert.equal((await inspect(folder, name)).verdict.finding, undefined);
      }
      assert.deepEqual([...new Set(folder.created.values())], [1]);
    },
  };
}
