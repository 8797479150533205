/** An audit log with an archive: another node on the database of an app, with a storage that a test can make fail. */
import { createHash } from 'node:crypto';
import { after } from 'node:test';
import { createSigner, createStatementReader } from '../../../src/adapters/keys/keys.ts';
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

export interface MemoryStorage extends ObjectStorage {
  readonly objects: Map<string, Buffer>;
  /** How often each name was created. */
  readonly created: Map<string, number>;
}

/** The rules of the port, without a disk. */
export function createMemoryStorage(): MemoryStorage {
  const objects = new Map<string, Buffer>();
  const created = new Map<string, number>();
  return {
    objects,
    created,
    location: 'memory://archive',
    async create(name, content, { signal }) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of content) {
        signal?.throwIfAborted();
        chunks.push(chunk);
      }
      if (objects.has(name)) return 'exists';
      objects.set(name, Buffer.concat(chunks));
      created.set(name, (created.get(name) ?? 0) + 1);
      return 'created';
    },
    async read(name) {
      const bytes = objects.get(name);
      return bytes && { bytes: bytes.length, content: inPieces(bytes) };
    },
    async *list(prefix) {
      for (const [name, bytes] of [...objects].toSorted())
        if (name.startsWith(prefix)) yield { name, bytes: bytes.length };
    },
    async close() {},
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
