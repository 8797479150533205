/** Tokens per second beside what the machine's cores could sign if they did nothing else. */
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import { agentsPerOrganization, someAgents } from '../support/agents.ts';
import type { Bench, Result } from '../support/bench.ts';
import { prepareDatabase, requireDurable, withClient, withDatabase } from '../support/database.ts';
import { createLoad, type Load } from '../support/load.ts';
import { tokenRequest } from '../support/requests.ts';
import { fromEnvironment, quantile, seconds, takeTurns, whole } from '../support/rounds.ts';
import { serveOurs, whileServing } from '../support/serving.ts';
import { signaturesPerSecond } from '../support/signatures.ts';

export const callers = 10_000;
/** Enough to keep every part busy, with a load that answers at once; with more, each would only wait longer. */
export const connections = fromEnvironment('BENCH_CONNECTIONS', 40);
/** Until the compiler has done its work; a server that has run for a minute is what is measured. */
export const warmUp = (load: Load) => load.run(6 * seconds);
const floor = 0.5;
const ceilingMs = 50;

export const tokens = ({ databaseUrl, say }: Bench): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_tokens', async (database) => {
    const keys = generateKeyPair();
    say(`${whole(callers)} agents`);
    await prepareDatabase(database, keys, callers / agentsPerOrganization);
    const agents = await withClient(database, (client) => someAgents(client, callers));
    return whileServing([serveOurs(database, keys)], async ([server]) => {
      const since = new Date();
      const load = createLoad({ url: server.url, connections, requests: agents.map(tokenRequest) });
      say(`warming up, with ${connections} connections`);
      await warmUp(load);
      const { ratio, ours, theirs, ourRounds } = await takeTurns({
        ours: () => load.run(seconds),
        theirs: () => signaturesPerSecond(keys.privatePem, seconds),
        say,
      });
      const served = await requireDurable(database, since, load.answers());
      const p99 = quantile(
        ourRounds.flatMap(({ milliseconds }) => milliseconds),
        0.99,
      );
      return [
        {
          what: `tokens per second, ${whole(served)} agents, durable ÷ RSA-2048 signatures per second of all cores`,
          measured: ratio.toFixed(3),
          beside: `${whole(ours)} ÷ ${whole(theirs)}`,
          target: `at least ${floor}`,
          met: ratio >= floor && served === callers,
        },
        {
          what: 'p99 of POST /token at that load',
          measured: `${p99.toFixed(1)} ms`,
          beside: `${connections} connections, ${whole(ours)} tokens per second`,
          target: `under ${ceilingMs} ms`,
          met: p99 < ceilingMs,
        },
      ];
    });
  });
