/** Verification of an export compared with one thread that hashes each line of the same file. */
import { createHash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { generateKeyPair } from '../../../src/kernel/config/keypair.ts';
import type { BenchContext, Result } from '../../support/bench.ts';
import { runCommand } from '../../support/command.ts';
import { withDatabase } from '../../support/database.ts';
import { openApp } from '../../support/in-process.ts';
import { compare, fromEnvironment, whole } from '../../support/rounds.ts';
import { fillEvents } from '../audit.ts';

const events = fromEnvironment('BENCH_EXPORT_EVENTS', 500_000);
const floor = 0.5;

export const exports = ({ databaseUrl, folder, log }: BenchContext): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_exports', async (database) => {
    const keys = generateKeyPair();
    const app = await openApp(database, keys);
    try {
      await fillEvents(app, app.ids.uuid(), events, log);
    } finally {
      await app.close();
    }
    const file = join(folder, 'export.jsonl');
    log('exporting');
    await runCommand(['audit', 'export', '--output', file], database, keys);
    const megabytes = statSync(file).size / 1e6;
    const rate = async (work: () => Promise<unknown>) => {
      const started = performance.now();
      await work();
      return { perSecond: megabytes / ((performance.now() - started) / 1000) };
    };
    const { ratio, ours, baseline } = await compare({
      ours: () => rate(() => runCommand(['audit', 'verify', file], database, keys)),
      baseline: () => rate(() => hashLines(file)),
      log,
    });
    const { perSecond: streamed } = await rate(() => hashFile(file));
    return [
      {
        metric: `verification of an export of ${whole(events)} events ÷ one thread that hashes each line of it`,
        result: ratio.toFixed(2),
        baseline: `${whole(ours)} ÷ ${whole(baseline)} MB per second; the file as a whole ${whole(streamed)}`,
        target: `at least ${floor}`,
        met: ratio >= floor,
      },
    ];
  });

async function hashLines(file: string): Promise<void> {
  const lines = createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY });
  for await (const line of lines) createHash('sha256').update(line).digest('hex');
}

async function hashFile(file: string): Promise<void> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  hash.digest('hex');
}
