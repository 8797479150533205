/** The p99 of POST /token at 80 % of the highest rate, while other organizations verify, export and get bursts of webhooks. */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { generateKeyPair } from '../../../src/kernel/config/keypair.ts';
import { type Agent, agentsPerOrganization, someAgents } from '../../support/agents.ts';
import type { BenchContext, Result } from '../../support/bench.ts';
import { runCommand } from '../../support/command.ts';
import { prepareDatabase, withClient, withDatabase } from '../../support/database.ts';
import { deliveringLocally, insertDeliveries, subscribe } from '../../support/generators/deliveries.ts';
import { createOpenLoad } from '../../support/generators/open-load.ts';
import { createLoad } from '../../support/load.ts';
import { accessToken, send, tokenRequest } from '../../support/requests.ts';
import { fromEnvironment, median, quantile, rounds, seconds, whole } from '../../support/rounds.ts';
import {
  freePort,
  type KeyPems,
  type Serving,
  serveOurs,
  serveProgram,
  whileServing,
} from '../../support/serving.ts';
import { callers, connections, warmUp } from '../tokens.ts';

const part = 0.8;
const ceiling = 5;
const maxConnections = 1_000;
/** The organization whose verifications, exports and webhooks disturb the others. */
const noisy = 'bench-1';
const noisyEvents = fromEnvironment('BENCH_NOISY_EVENTS', 20_000);
const burst = 1_000;
const burstEveryMs = 5_000;
/** The rate limit is 30 a minute. */
const verifyEveryMs = 2_100;

export const latency = ({ databaseUrl, log }: BenchContext): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_latency', async (database) => {
    const keys = generateKeyPair();
    await prepareDatabase(database, keys, callers / agentsPerOrganization);
    return withClient(database, async (client) => {
      const noisyAgents = await prepareNoisy(client);
      const [{ organizationId } = { organizationId: '' }] = noisyAgents;
      const all = await someAgents(client, callers);
      const quiet = all.filter((agent) => agent.organizationId !== organizationId);
      const tlsPort = await freePort();
      const subscription = await subscribe(client, `https://127.0.0.1:${tlsPort}`, 'token.revoked', noisy);
      const receiver = serveProgram('receiver.ts', { TLS_PORT: String(tlsPort) });
      return whileServing([serveOurs(database, keys, deliveringLocally), receiver], async ([server]) => {
        log(`${whole(noisyEvents)} events of another organization`);
        await issue(server, noisyAgents, noisyEvents);
        const requests = quiet.map(tokenRequest);
        const load = createLoad({ url: server.url, connections, requests });
        const openLoad = createOpenLoad({ url: server.url, requests, maxConnections });
        log('warming up');
        await warmUp(load);
        const stopping = new AbortController();
        const disturbing = [
          repeat(stopping.signal, verifyEveryMs, verification(server, noisyAgents)),
          repeat(stopping.signal, 0, exportOf(organizationId, database, keys)),
          repeat(stopping.signal, burstEveryMs, () => insertDeliveries(client, subscription, burst)),
        ];
        const measured: Measured[] = [];
        try {
          for (let round = 1; round <= rounds; round += 1) {
            const { perSecond: highest } = await load.run(seconds);
            if (highest === 0) throw new Error(`no tokens within ${seconds} s`);
            const [arrivals] = await openLoad.run({ perSecond: part * highest, seconds: 3 * seconds });
            openLoad.close();
            const failed = arrivals.find(({ status }) => status !== 200);
            if (failed) throw new Error(`a token request was answered with ${failed.status}`);
            const times = arrivals.map(({ milliseconds }) => milliseconds);
            const [p50, p99] = [quantile(times, 0.5), quantile(times, 0.99)];
            measured.push({ rate: part * highest, p50, p99 });
            log(
              `round ${round} of ${rounds}: ${whole(part * highest)} tokens per second, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`,
            );
          }
        } finally {
          stopping.abort();
        }
        const [verifications, exports, bursts] = await Promise.all(disturbing);
        const ratio = median(measured.map(({ p50, p99 }) => p99 / p50));
        const typical = (name: keyof Measured) => median(measured.map((each) => each[name]));
        return [
          {
            metric: `p99 ÷ p50 of POST /token at ${part * 100} % of the highest rate, with ${verifications} verifications, ${exports} exports and ${bursts} bursts of ${whole(burst)} webhooks of another organization`,
            result: ratio.toFixed(1),
            baseline: `${typical('p99').toFixed(1)} ms ÷ ${typical('p50').toFixed(1)} ms, ${whole(typical('rate'))} tokens per second`,
            target: `under ${ceiling}`,
            met: ratio < ceiling,
          },
        ];
      });
    });
  });

interface Measured {
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
}

/** Its agents may also verify. */
async function prepareNoisy(client: pg.Client): Promise<Agent[]> {
  await client.query(
    `update agents set allowed_scopes = array['audit:read', 'tokens:read']
     where organization_id = (select organization_id from organizations where slug = $1)`,
    [noisy],
  );
  return someAgents(client, 100, noisy);
}

async function issue({ url }: Serving, agents: readonly Agent[], count: number): Promise<void> {
  const load = createLoad({ url, connections, requests: agents.map(tokenRequest) });
  while (load.answers() < count) await load.run(1);
}

function verification({ url }: Serving, [agent]: readonly Agent[]): () => Promise<void> {
  if (!agent) throw new Error('no agents');
  return async () => {
    const token = await accessToken(url, tokenRequest(agent));
    const headers = { authorization: `Bearer ${token}` };
    const { verified } = await send<{ verified: boolean }>(url, {
      method: 'GET',
      path: '/api/v1/audit/verify',
      headers,
    });
    if (!verified) throw new Error('the audit log is not intact');
  };
}

const exportOf = (organizationId: string, database: string, keys: KeyPems) => () =>
  runCommand(['audit', 'export', '--organization', organizationId], database, keys);

/** Returns how often it ran. */
async function repeat(signal: AbortSignal, everyMs: number, work: () => Promise<unknown>): Promise<number> {
  let count = 0;
  for (; !signal.aborted; count += 1) {
    const started = performance.now();
    await work();
    await sleep(Math.max(100, started + everyMs - performance.now()), undefined, { signal }).catch(() => {});
  }
  return count;
}
