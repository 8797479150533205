/**
 * The cost of tracing: CPU time per token of the main thread, with all requests traced and with one in a hundred, compared with tracing
 * off. In this process and in alternating rounds of a fixed number of tokens, so that other work of the machine affects all sides. The
 * collector is in the same thread, so the results are upper limits. A fourth server without tracing shows the error of the measurement.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startTracing } from '../../../src/adapters/opentelemetry/start-tracing.ts';
import type { App } from '../../../src/app.ts';
import { generateKeyPair } from '../../../src/kernel/config/keypair.ts';
import { createLog } from '../../../src/kernel/observability/log.ts';
import { setTracer, type Tracer, tracer } from '../../../src/kernel/observability/tracing.ts';
import { agentsPerOrganization, someAgents } from '../../support/agents.ts';
import type { BenchContext, Result } from '../../support/bench.ts';
import { prepareDatabase, withClient, withDatabase } from '../../support/database.ts';
import { openApp } from '../../support/in-process.ts';
import { tokenRequest } from '../../support/requests.ts';
import { median } from '../../support/rounds.ts';

const callers = 1_000;
const rounds = 25;
/** Until the JIT compiler is done. */
const warmUpRounds = 5;
const batchesPerRound = 8;
const concurrent = 40;

const sides = [
  { name: 'all requests traced', env: {}, ceiling: 1.6 },
  {
    name: 'one request in 100 traced',
    env: { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.01' },
    ceiling: 1.15,
  },
  { name: 'tracing off', env: { OTEL_SDK_DISABLED: 'true' }, ceiling: 1.05 },
];

interface Measured {
  readonly app: App;
  readonly tracer: Tracer | undefined;
  readonly microseconds: number[];
}

export const tracing = ({ databaseUrl, log }: BenchContext): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_tracing', async (database) => {
    const keys = generateKeyPair();
    await prepareDatabase(database, keys, callers / agentsPerOrganization);
    const agents = await withClient(database, (client) => someAgents(client, callers));
    const requests = agents.map(tokenRequest);
    const collector = await startCollector();
    // The exporter reads the variables of the process.
    process.env.OTEL_EXPORTER_OTLP_ENDPOINT = collector.url;
    const opened: Measured[] = [];
    const stops: (() => Promise<void>)[] = [];
    try {
      for (const env of [{ OTEL_SDK_DISABLED: 'true' }, ...sides.map((side) => side.env)]) {
        setTracer(undefined);
        const { stop } = await startTracing({ ...process.env, ...env }, createLog({ level: 'warn' }));
        stops.push(stop);
        opened.push({ app: await openApp(database, keys), tracer, microseconds: [] });
      }
      let next = 0;
      const askToken = async ({ http }: App) => {
        const { path, headers, body } = requests[next++ % requests.length] as (typeof requests)[number];
        const { statusCode } = await http.server.inject({
          ...{ method: 'POST', url: path, headers: { ...headers } },
          ...(body !== undefined && { payload: body }),
        });
        if (statusCode !== 200) throw new Error(`a token request was answered with ${statusCode}`);
      };
      const measure = async (side: Measured): Promise<number> => {
        setTracer(side.tracer);
        const before = process.threadCpuUsage();
        for (let batch = 0; batch < batchesPerRound; batch += 1)
          await Promise.all(Array.from({ length: concurrent }, () => askToken(side.app)));
        const { user, system } = process.threadCpuUsage(before);
        return (user + system) / (batchesPerRound * concurrent);
      };
      log(`${rounds} rounds of ${batchesPerRound * concurrent} tokens for each of ${opened.length} servers`);
      for (let round = 0; round < warmUpRounds + rounds; round += 1)
        for (const side of round % 2 === 0 ? opened : opened.toReversed()) {
          const microseconds = await measure(side);
          if (round >= warmUpRounds) side.microseconds.push(microseconds);
        }
      if (collector.requests() === 0) throw new Error('no spans were exported');
      const [off, ...others] = opened as [Measured, ...Measured[]];
      return others.map(({ microseconds }, index) => rowOf(index, microseconds, off.microseconds));
    } finally {
      setTracer(undefined);
      delete process.env.OTEL_EXPORTER_OTLP_ENDPOINT;
      await Promise.all(opened.map(({ app }) => app.close()));
      await Promise.all(stops.map((stop) => stop()));
      collector.close();
    }
  });

function rowOf(index: number, ours: readonly number[], off: readonly number[]): Result {
  const { name, ceiling } = sides[index] as (typeof sides)[number];
  const ratio = median(ours.map((microseconds, round) => microseconds / (off[round] as number)));
  return {
    metric: `CPU time per token, main thread, ${name} ÷ tracing off`,
    result: ratio.toFixed(2),
    baseline: `${Math.round(median(ours))} µs ÷ ${Math.round(median(off))} µs`,
    target: `at most ${ceiling}`,
    met: ratio <= ceiling,
  };
}

/** Takes spans and forgets them. */
async function startCollector() {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    request.resume().on('end', () => response.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    close: () => void server.close().closeAllConnections(),
  };
}
