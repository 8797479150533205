/** Archiving a day of the audit log: rate compared with the hashes of its events alone, and constant memory. */
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openAudit } from '../../src/audit-app.ts';
import { type Clock, systemClock } from '../../src/kernel/clock.ts';
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import { createLog } from '../../src/kernel/observability/log.ts';
import type { BenchContext, Result } from '../support/bench.ts';
import { withClient, withDatabase } from '../support/database.ts';
import { openApp } from '../support/in-process.ts';
import { compare, fromEnvironment, whole } from '../support/rounds.ts';
import type { KeyPems } from '../support/serving.ts';
import { fillEvents, hashAll, hashedTexts } from './audit.ts';

const events = fromEnvironment('BENCH_ARCHIVE_EVENTS', 500_000);
const floor = 0.3;
const maxGrowth = 1.25;

export const archive = ({ databaseUrl, folder, log }: BenchContext): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_archive', async (database) => {
    const keys = generateKeyPair();
    const app = await openApp(database, keys);
    const organizationId = app.ids.uuid();
    try {
      await fillEvents(app, organizationId, events, log);
    } finally {
      await app.close();
    }
    await withClient(database, (client) => client.query('vacuum analyze'));
    const texts = await hashedTexts(database);
    const place = join(folder, 'archive');
    const memory: number[] = [];
    const { ratio, ours, baseline } = await compare({
      ours: async () => ({ perSecond: await archiveDay(database, keys, { place, organizationId, memory }) }),
      baseline: async () => ({ perSecond: hashAll(texts) }),
      log,
    });
    const growth =
      Math.max(...memory.slice(-memory.length / 4)) / Math.max(...memory.slice(0, memory.length / 4));
    return [
      {
        metric: `events archived per second, of a day of ${whole(events)} ÷ one thread hashing the same texts`,
        result: ratio.toFixed(2),
        baseline: `${whole(ours)} ÷ ${whole(baseline)}`,
        target: `at least ${floor}`,
        met: ratio >= floor,
      },
      {
        metric: 'resident memory in the last quarter of archiving a day ÷ in the first',
        result: growth.toFixed(2),
        baseline: `${Math.round(Math.max(...memory) / 1e6)} MB at most; ${whole(sizeOf(place) / events)} bytes per event in the archive`,
        target: `at most ${maxGrowth}`,
        met: growth <= maxGrowth,
      },
    ];
  });

/** Into an empty archive. */
async function archiveDay(
  database: string,
  { privatePem, publicPem }: KeyPems,
  { place, organizationId, memory }: { place: string; organizationId: string; memory: number[] },
): Promise<number> {
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place);
  await withClient(database, (client) => client.query('delete from audit_archives'));
  memory.length = 0;
  const tomorrow: Clock = { now: () => systemClock.now() + 86_400_000 };
  const { audit, close } = await openAudit({
    database: { url: database, pooler: 'none' },
    signingKeys: { privateKey: createPrivateKey(privatePem), publicKey: createPublicKey(publicPem) },
    previousPublicKeys: [],
    issuer: 'http://localhost:3000',
    witnesses: undefined,
    archive: { url: pathToFileURL(place).href },
    log: createLog({ level: 'warn' }),
    clock: tomorrow,
  });
  try {
    let archived = 0;
    let rested = 0;
    const started = performance.now();
    await audit.archiving?.round({
      onArchived: (row) => {
        if (row.organizationId === organizationId) archived += row.events;
      },
      onProgress() {
        rested += 1;
        if (rested % 50 === 0) memory.push(process.memoryUsage.rss());
      },
    });
    const seconds = (performance.now() - started) / 1_000;
    if (archived !== events) throw new Error(`${archived} events archived`);
    return events / seconds;
  } finally {
    await close();
  }
}

const sizeOf = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((bytes, { parentPath, name }) => bytes + statSync(join(parentPath, name)).size, 0);
