/** An audit log with an archive: another node on the database of an app, with a storage that a test can make fail. */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { createSigner, createStatementReader } from '../../../src/adapters/keys/keys.ts';
import { openFolder } from '../../../src/adapters/object-storage/file.ts';
import { createPostgres } from '../../../src/adapters/postgres/postgres.ts';
import { zstd } from '../../../src/adapters/zstd.ts';
import { createAudit } from '../../../src/features/audit/feature.ts';
import type { LogEvidence } from '../../../src/features/instance-log/feature.ts';
import { loadConfig } from '../../../src/kernel/config/config.ts';
import { createLog } from '../../../src/kernel/observability/log.ts';
import { createMetrics } from '../../../src/kernel/observability/metrics.ts';
import { type ObjectStorage, ObjectStorageError } from '../../../src/kernel/ports/object-storage.ts';
import { environment, type TestApp } from '../harness.ts';

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
