/** Archiving a day of the audit log: rate compared with the hashes of its events alone, and constant memory. */
import * as childProcess from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import type { BenchContext, Result } from '../support/bench.ts';
import { mainSeconds, notMeasured } from '../support/cpu-time.ts';
import { withClient, withDatabase } from '../support/database.ts';
import { openApp } from '../support/in-process.ts';
import { compare, fromEnvironment, median, type Rate, whole } from '../support/rounds.ts';
import type { ArchivedDays } from '../support/servers/archiver.ts';
import type { KeyPems } from '../support/serving.ts';
import { fillEvents, hashAll, hashedTexts } from './audit.ts';

const events = fromEnvironment('BENCH_ARCHIVE_EVENTS', 500_000);
const floor = 0.3;
const maxGrowth = 1.25;
const execFile = promisify(childProcess.execFile);
const archiverFile = fileURLToPath(new URL('../support/servers/archiver.ts', import.meta.url));

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
    const { ratio, ours, baseline, ourRounds, baselineRounds } = await compare({
      ours: () => archiveDay(database, keys, { place, organizationId }),
      baseline: async () => {
        const before = mainSeconds();
        const { perSecond, hashed } = hashAll(texts);
        return { perSecond, perCpuSecond: hashed / (mainSeconds() - before) };
      },
      log,
    });
    const onCpu = median(
      ourRounds.map(({ perCpuSecond }, round) => perCpuSecond / (baselineRounds[round]?.perCpuSecond ?? 0)),
    );
    const memory = ourRounds.at(-1)?.memory ?? [];
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
        metric: 'the same by the CPU time of the main thread, which other work on the machine changes less',
        result: Number.isNaN(onCpu) ? notMeasured : onCpu.toFixed(2),
        baseline: `${whole(median(ourRounds.map(({ perCpuSecond }) => perCpuSecond)))} ÷ ${whole(median(baselineRounds.map(({ perCpuSecond }) => perCpuSecond)))}`,
        target: `at least ${floor}`,
        met: !(onCpu < floor),
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

/** Into an empty archive, by a process of its own: this one has filled the database, and holds the texts of the baseline. */
async function archiveDay(
  database: string,
  { privatePem, publicPem }: KeyPems,
  { place, organizationId }: { place: string; organizationId: string },
): Promise<Rate & Pick<ArchivedDays, 'memory'> & { readonly perCpuSecond: number }> {
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place);
  await withClient(database, (client) => client.query('delete from audit_archives'));
  const { stdout } = await execFile(process.execPath, [archiverFile, place, organizationId], {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: database,
      JWT_PRIVATE_KEY: privatePem,
      JWT_PUBLIC_KEY: publicPem,
    },
    maxBuffer: 16 * 1024 * 1024,
  });
  const archived: ArchivedDays = JSON.parse(stdout);
  if (archived.events !== events) throw new Error(`${archived.events} events archived`);
  const { seconds, mainSeconds: onCpu, memory } = archived;
  return { perSecond: events / seconds, perCpuSecond: events / onCpu, memory };
}

const sizeOf = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((bytes, { parentPath, name }) => bytes + statSync(join(parentPath, name)).size, 0);
