/** CPU time per token with several serving processes and proportional load compared with one process. */
import { generateKeyPair } from '../../../src/kernel/config/keypair.ts';
import { agentsPerOrganization, someAgents } from '../../support/agents.ts';
import type { BenchContext, Result } from '../../support/bench.ts';
import { notMeasured } from '../../support/cpu-time.ts';
import { prepareDatabase, requireDurable, withClient, withDatabase } from '../../support/database.ts';
import { createLoad } from '../../support/load.ts';
import { cpuRatioRow, runMetered } from '../../support/metered.ts';
import { tokenRequest } from '../../support/requests.ts';
import { compare, seconds } from '../../support/rounds.ts';
import { withRedis } from '../../support/servers/redis.ts';
import { serveOurs, whileServing } from '../../support/serving.ts';
import { callers, connections, warmUp } from '../tokens.ts';

const counts = [2, 4] as const;
const ceiling = 1.1;

export const processes = (bench: BenchContext): Promise<Result[]> =>
  withRedis(async (redisUrl) =>
    redisUrl === undefined ? counts.map(withoutRedis) : measure(bench, redisUrl),
  );

const metricOf = (count: number): string =>
  `CPU time per token with ${count} processes and ${count} times the connections ÷ with one process`;

const withoutRedis = (count: number): Result => ({
  metric: metricOf(count),
  result: notMeasured,
  baseline: 'needs redis-server or BENCH_REDIS_URL',
  target: `at most ${ceiling}`,
  met: true,
});

const measure = ({ databaseUrl, postgresPid, log }: BenchContext, redisUrl: string): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_processes', async (database) => {
    const keys = generateKeyPair();
    await prepareDatabase(database, keys, callers / agentsPerOrganization);
    const agents = await withClient(database, (client) => someAgents(client, callers));
    const start = (count: number) =>
      serveOurs(database, keys, { WEB_CONCURRENCY: String(count), REDIS_URL: redisUrl });
    const loadOf = (url: string, count: number) =>
      createLoad({ url, connections: count * connections, requests: agents.map(tokenRequest) });
    const rows: Result[] = [];
    for (const count of counts) {
      log(`${count} processes`);
      rows.push(
        await whileServing([start(count), start(1)], async ([several, one]) => {
          const since = new Date();
          const severalLoad = loadOf(several.url, count);
          const oneLoad = loadOf(one.url, 1);
          log('warming up');
          await warmUp(oneLoad);
          await warmUp(severalLoad);
          const comparison = await compare({
            ours: () => runMetered(severalLoad, { server: several.pid, postgres: postgresPid }, seconds),
            baseline: () => runMetered(oneLoad, { server: one.pid, postgres: postgresPid }, seconds),
            log,
          });
          await requireDurable(database, since, severalLoad.answers() + oneLoad.answers());
          return cpuRatioRow(metricOf(count), comparison, ceiling);
        }),
      );
    }
    return rows;
  });
