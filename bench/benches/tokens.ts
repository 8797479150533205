/** Tokens per second compared with the RSA signatures that all cores could make; tokens for a resource compared with those for our API. */
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import { agentsPerOrganization, grantResource, someAgents } from '../support/agents.ts';
import type { BenchContext, Result } from '../support/bench.ts';
import { prepareDatabase, requireDurable, withClient, withDatabase } from '../support/database.ts';
import { createLoad, type Load } from '../support/load.ts';
import { resourceTokenRequest, tokenRequest } from '../support/requests.ts';
import { compare, fromEnvironment, quantile, seconds, whole } from '../support/rounds.ts';
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

export const tokens = ({ databaseUrl, log }: BenchContext): Promise<Result[]> =>
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
      const { ratio, ours, baseline, ourRounds } = await compare({
        ours: () => load.run(seconds),
        baseline: () => signaturesPerSecond(keys.privatePem, seconds),
        log,
      });
      const served = await requireDurable(database, since, load.answers());
      const requests = agents.map((agent) => resourceTokenRequest(agent, resource));
      const resourceLoad = createLoad({ url: server.url, connections, requests });
      log('tokens for a resource');
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
          metric: 'tokens per second for a registered resource ÷ for our own API',
          result: forResource.ratio.toFixed(3),
          baseline: `${whole(forResource.ours)} ÷ ${whole(forResource.baseline)}`,
          target: `at least ${resourceFloor}`,
          met: forResource.ratio >= resourceFloor,
        },
      ];
    });
  });
