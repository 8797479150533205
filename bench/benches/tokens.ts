/**
 * CPU time per token by thread; tokens per second compared with the RSA signatures that all cores could make; tokens for a resource
 * compared with those for our API.
 */
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import { agentsPerOrganization, grantResource, someAgents } from '../support/agents.ts';
import type { BenchContext, Result } from '../support/bench.ts';
import { notMeasured } from '../support/cpu-time.ts';
import { prepareDatabase, requireDurable, withClient, withDatabase } from '../support/database.ts';
import { createLoad, type Load } from '../support/load.ts';
import { memoryOf } from '../support/memory.ts';
import {
  type CpuPerRequest,
  cpuRow,
  type MeteredResult,
  medianCpu,
  microsecondsText,
  runMetered,
} from '../support/metered.ts';
import { resourceTokenRequest, tokenRequest } from '../support/requests.ts';
import { compare, fromEnvironment, median, quantile, seconds, whole } from '../support/rounds.ts';
import { serveOurs, whileServing } from '../support/serving.ts';
import { signaturesPerSecond } from '../support/signatures.ts';

export const callers = 10_000;
/** Enough to saturate the server; more would only add waiting time. */
export const connections = fromEnvironment('BENCH_CONNECTIONS', 40);
/** Until the JIT compiler is done: the bench measures a server that has run for a minute. */
export const warmUp = (load: Load) => load.run(6 * seconds);
const floor = 0.5;
const ceilingMs = 50;
/** A token for a resource joins two more tables and carries more claims. */
const resourceFloor = 0.85;
const mainCeiling = 220;
const postgresCeiling = 110;

export const tokens = ({ databaseUrl, postgresPid, log }: BenchContext): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_tokens', async (database) => {
    const keys = generateKeyPair();
    log(`${whole(callers)} agents`);
    await prepareDatabase(database, keys, callers / agentsPerOrganization);
    const agents = await withClient(database, (client) => someAgents(client, callers));
    const resource = await withClient(database, grantResource);
    return whileServing([serveOurs(database, keys)], async ([server]) => {
      const since = new Date();
      const load = createLoad({ url: server.url, connections, requests: agents.map(tokenRequest) });
      log(`warming up, with ${connections} connections`);
      await warmUp(load);
      const { ratio, ours, baseline, ourRounds, baselineRounds } = await compare({
        ours: () => runMetered(load, { server: server.pid, postgres: postgresPid }, seconds),
        baseline: () => signaturesPerSecond(keys.privatePem, seconds),
        log,
      });
      const memory = memoryOf(server.pid);
      const served = await requireDurable(database, since, load.answers());
      const requests = agents.map((agent) => resourceTokenRequest(agent, resource));
      const resourceLoad = createLoad({ url: server.url, connections, requests });
      log('tokens for an API');
      await warmUp(resourceLoad);
      const forResource = await compare({
        ours: () => resourceLoad.run(seconds),
        baseline: () => load.run(seconds),
        log,
      });
      const p99 = quantile(
        ourRounds.flatMap(({ milliseconds }) => milliseconds),
        0.99,
      );
      return [
        {
          metric: `tokens per second, ${whole(served)} agents, durable ÷ RSA-2048 signatures per second of all cores`,
          result: ratio.toFixed(3),
          baseline: `${whole(ours)} ÷ ${whole(baseline)}`,
          target: `at least ${floor}`,
          met: ratio >= floor && served === callers,
        },
        {
          metric: 'p99 of POST /token at that load',
          result: `${p99.toFixed(1)} ms`,
          baseline: `${connections} connections, ${whole(ours)} tokens per second`,
          target: `under ${ceilingMs} ms`,
          met: p99 < ceilingMs,
        },
        {
          metric: 'tokens per second for a registered API ÷ for our own API',
          result: forResource.ratio.toFixed(3),
          baseline: `${whole(forResource.ours)} ÷ ${whole(forResource.baseline)}`,
          target: `at least ${resourceFloor}`,
          met: forResource.ratio >= resourceFloor,
        },
        ...cpuRows(ourRounds, median(baselineRounds.map(({ microseconds }) => microseconds))),
        {
          metric: 'resident memory of the server after that load',
          result: memory ? `${Math.round(memory.residentMegabytes)} MB` : notMeasured,
          baseline: memory
            ? `${Math.round(memory.proportionalMegabytes)} MB if shared pages count in part`
            : '–',
          target: 'none',
          met: true,
        },
      ];
    });
  });

function cpuRows(rounds: readonly MeteredResult[], signature: number): Result[] {
  const total = `of ${microsecondsText(medianCpu(rounds, 'total'))} in all`;
  const row = (metric: string, part: keyof CpuPerRequest, baseline: string, ceiling?: number) =>
    cpuRow({ metric, microseconds: medianCpu(rounds, part), baseline, ...(ceiling && { ceiling }) });
  return [
    row('token: main thread', 'main', total, mainCeiling),
    row('token: PostgreSQL', 'postgres', total, postgresCeiling),
    row('token: signing threads', 'pool', `one signature without other work ${microsecondsText(signature)}`),
    row('token: garbage collection and compiler threads', 'v8', total),
    row(
      'token: server and PostgreSQL',
      'total',
      `the server alone ${microsecondsText(medianCpu(rounds, 'server'))}`,
    ),
  ];
}
