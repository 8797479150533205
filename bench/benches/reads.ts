/** The most frequent requests compared with a bare Fastify route that returns a fixed response: the cost of authentication and lookups. */
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import { agentsPerOrganization, someAgents } from '../support/agents.ts';
import type { BenchContext, Result } from '../support/bench.ts';
import { prepareDatabase, withClient, withDatabase } from '../support/database.ts';
import { createLoad, type Request } from '../support/load.ts';
import { cpuRow, medianCpu, microsecondsText, runMetered } from '../support/metered.ts';
import { accessToken, agentRequest, introspectionRequest, send, tokenRequest } from '../support/requests.ts';
import { compare, seconds, whole } from '../support/rounds.ts';
import { type Serving, serveOurs, serveProgram, whileServing } from '../support/serving.ts';
import { connections, warmUp } from './tokens.ts';

const distinct = agentsPerOrganization;

interface ReadBenchmark {
  readonly operation: string;
  readonly floor: number;
  /** Microseconds of CPU time of the server. */
  readonly ceiling: number;
  readonly requests: readonly Request[];
}

export const reads = ({ databaseUrl, log }: BenchContext): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_reads', async (database) => {
    const keys = generateKeyPair();
    await prepareDatabase(database, keys, 10);
    const agents = await withClient(database, (client) => someAgents(client, distinct, 'bench-1'));
    return whileServing([serveOurs(database, keys)], async ([server]) => {
      log(`${whole(distinct)} tokens`);
      const tokens: string[] = [];
      for (const agent of agents) tokens.push(await accessToken(server.url, tokenRequest(agent)));
      const caller = tokens[0] ?? '';
      const benchmarks: ReadBenchmark[] = [
        {
          operation: 'POST /token/introspect',
          floor: 0.5,
          ceiling: 60,
          requests: tokens.map((token) => introspectionRequest(caller, token)),
        },
        {
          operation: 'GET /agents/{agentId}',
          floor: 0.4,
          ceiling: 40,
          requests: agents.map((agent) => agentRequest(caller, agent)),
        },
      ];
      const results: Result[] = [];
      for (const benchmark of benchmarks) {
        log(benchmark.operation);
        results.push(...(await measure(server, benchmark, log)));
      }
      return results;
    });
  });

/** The bare server gets the same requests, and returns one of our own responses. */
async function measure(
  { url, pid }: Serving,
  { operation, floor, ceiling, requests }: ReadBenchmark,
  log: BenchContext['log'],
): Promise<Result[]> {
  const [first] = requests;
  if (!first) throw new Error('no requests');
  const response = await send<{ active?: boolean }>(url, first);
  if (response.active === false) throw new Error('the token is not active');
  const bare = serveProgram('bare-fastify.ts', { ANSWER: JSON.stringify(response) });
  return whileServing([bare], async ([other]) => {
    const [ourLoad, bareLoad] = [url, other.url].map((at) => createLoad({ url: at, connections, requests }));
    if (!ourLoad || !bareLoad) throw new Error('unreachable');
    await warmUp(bareLoad);
    await warmUp(ourLoad);
    const { ratio, ours, baseline, ourRounds, baselineRounds } = await compare({
      ours: () => runMetered(ourLoad, { server: pid }, seconds),
      baseline: () => runMetered(bareLoad, { server: other.pid }, seconds),
      log,
    });
    return [
      {
        metric: `${operation} per second ÷ a bare Fastify route with the same response`,
        result: ratio.toFixed(3),
        baseline: `${whole(ours)} ÷ ${whole(baseline)}`,
        target: `at least ${floor}`,
        met: ratio >= floor,
      },
      cpuRow({
        metric: `${operation}, of the server`,
        microseconds: medianCpu(ourRounds, 'server'),
        baseline: `bare Fastify route ${microsecondsText(medianCpu(baselineRounds, 'server'))}`,
        ceiling,
      }),
    ];
  });
}
