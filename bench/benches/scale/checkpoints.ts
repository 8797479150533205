/** CPU time of linking and signing with a thousand active organizations compared with ten, at the same number of events per second. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { App } from '../../../src/app.ts';
import { generateKeyPair } from '../../../src/kernel/config/keypair.ts';
import type { BenchContext, Result } from '../../support/bench.ts';
import { notMeasured } from '../../support/cpu-time.ts';
import { withDatabase } from '../../support/database.ts';
import { openApp } from '../../support/in-process.ts';
import {
  type CpuPerRequest,
  cpuRatio,
  type Metered,
  medianCpu,
  microsecondsText,
  startMeter,
} from '../../support/metered.ts';
import { compare, fromEnvironment, seconds, whole } from '../../support/rounds.ts';
import { endServer, type KeyPems } from '../../support/serving.ts';
import { createRecorder } from '../audit.ts';

const many = 1_000;
const few = 10;
/** Every organization has at least one event a second. */
const perSecond = fromEnvironment('BENCH_EVENTS_PER_SECOND', many);
const transactionsPerSecond = 10;
const ceiling = 1.2;
const settleMs = 2_000;

export const checkpoints = ({ databaseUrl, postgresPid, log }: BenchContext): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_checkpoints', async (database) => {
    const keys = generateKeyPair();
    const app = await openApp(database, keys);
    try {
      return await whileLinking(database, keys, async (pid) => {
        const metered = { server: pid, postgres: postgresPid };
        const [manyIds, fewIds] = [many, few].map((count) =>
          Array.from({ length: count }, () => app.ids.uuid()),
        );
        log('warming up');
        await record(app, metered, manyIds ?? []);
        const comparison = await compare({
          ours: () => record(app, metered, manyIds ?? []),
          baseline: () => record(app, metered, fewIds ?? []),
          log,
        });
        const ratio = cpuRatio(comparison, 'server');
        const text = (part: keyof CpuPerRequest) =>
          `${microsecondsText(medianCpu(comparison.ourRounds, part))} ÷ ${microsecondsText(medianCpu(comparison.baselineRounds, part))}`;
        return [
          {
            metric: `CPU time per event, linking and signing for ${whole(many)} active organizations ÷ for ${few}, ${whole(perSecond)} events per second`,
            result: Number.isNaN(ratio) ? notMeasured : ratio.toFixed(2),
            baseline: `${text('server')}; signing threads ${text('pool')}; PostgreSQL ${text('postgres')}`,
            target: `at most ${ceiling}`,
            met: !(ratio > ceiling),
          },
        ];
      });
    } finally {
      await app.close();
    }
  });

/** Records events at a constant rate, round robin over the organizations, and waits until they are linked. */
async function record(app: App, metered: Metered, organizations: readonly string[]) {
  const { recordEvents } = createRecorder(app);
  const each = Math.ceil(perSecond / transactionsPerSecond);
  const stop = startMeter(metered);
  const started = performance.now();
  let events = 0;
  for (let transaction = 1; transaction <= seconds * transactionsPerSecond; transaction += 1) {
    const ids = Array.from(
      { length: each },
      (_, index) => organizations[(events + index) % organizations.length] ?? '',
    );
    await recordEvents(ids);
    events += each;
    await sleep(Math.max(0, started + (transaction * 1000) / transactionsPerSecond - performance.now()));
  }
  const rate = events / ((performance.now() - started) / 1000);
  await sleep(settleMs);
  return { perSecond: rate, milliseconds: [], cpu: stop(events) };
}

const linker = fileURLToPath(new URL('../../support/servers/linker.ts', import.meta.url));

async function whileLinking<T>(
  database: string,
  { privatePem, publicPem }: KeyPems,
  work: (pid: number) => Promise<T>,
): Promise<T> {
  const child = spawn(process.execPath, ['--liftoff-only', '--preserve-symlinks', linker], {
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      DATABASE_URL: database,
      JWT_PRIVATE_KEY: privatePem,
      JWT_PUBLIC_KEY: publicPem,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const kill = () => child.kill();
  process.once('exit', kill);
  try {
    await Promise.race([
      once(child.stdout, 'data'),
      once(child, 'exit').then(() => Promise.reject(new Error('the linker ended'))),
    ]);
    child.stdout.resume();
    return await work(child.pid ?? 0);
  } finally {
    await endServer(child);
    process.off('exit', kill);
  }
}
