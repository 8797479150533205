/** The latency of one organization's tokens while another attacks the node, compared with its latency alone. */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { generateKeyPair } from '../../../src/kernel/config/keypair.ts';
import { type Agent, someAgents } from '../../support/agents.ts';
import type { BenchContext, Result } from '../../support/bench.ts';
import { prepareDatabase, withClient, withDatabase } from '../../support/database.ts';
import type { Request } from '../../support/generators/connection.ts';
import { deliveringLocally, subscribe } from '../../support/generators/deliveries.ts';
import { type Arrival, createOpenLoad } from '../../support/generators/open-load.ts';
import { createLoad } from '../../support/load.ts';
import { accessToken, tokenRequest } from '../../support/requests.ts';
import { fromEnvironment, median, quantile, rounds, seconds, whole } from '../../support/rounds.ts';
import { freePort, type Serving, serveOurs, serveProgram, whileServing } from '../../support/serving.ts';

const p50Ceiling = 3;
const p99Ceiling = 4;
const attackers = 200;
const subscriptions = 50;
/** Within the default rate limit: 100 a minute for each agent. */
const attacksPerSecond = fromEnvironment('BENCH_ATTACKS_PER_SECOND', 280);
const victimsPerSecond = 20;
const attackingSlug = 'bench-1';
const victimSlug = 'bench-2';
const refusals = fromEnvironment('BENCH_REFUSALS', 50_000);
const maxConnections = 2_000;

interface Attack {
  readonly name: string;
  readonly requests: readonly Request[];
}

interface Latency {
  readonly p50: number;
  readonly p99: number;
  readonly failed: number;
}

export const isolation = ({ databaseUrl, log }: BenchContext): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_isolation', async (database) => {
    const keys = generateKeyPair();
    await prepareDatabase(database, keys, 2, attackers);
    const tlsPort = await freePort();
    const { attacking, victims } = await withClient(database, async (client) => {
      await prepareAttacker(client, `https://127.0.0.1:${tlsPort}`);
      const agentsOf = (slug: string) => someAgents(client, attackers, slug);
      return { attacking: await agentsOf(attackingSlug), victims: await agentsOf(victimSlug) };
    });
    const receiver = serveProgram('receiver.ts', { TLS_PORT: String(tlsPort) });
    return whileServing([serveOurs(database, keys, deliveringLocally), receiver], async ([server]) => {
      log('warming up');
      await createLoad({ url: server.url, connections: 10, requests: victims.map(tokenRequest) }).run(
        seconds,
      );
      const victim = createOpenLoad({ url: server.url, requests: victims.map(tokenRequest), maxConnections });
      const measure = async (): Promise<Latency> => {
        const [arrivals] = await victim.run({ perSecond: victimsPerSecond, seconds: 2 * seconds });
        victim.close();
        return latencyOf(arrivals);
      };
      const results: Result[] = [];
      for (const attack of await attacksOf(server, attacking)) {
        const measured: { alone: Latency; attacked: Latency }[] = [];
        for (let round = 1; round <= rounds; round += 1) {
          await withClient(database, deleteBacklog);
          const alone = await measure();
          const attacked = await whileAttacked(server, attack, measure);
          measured.push({ alone, attacked });
          log(`${attack.name}, round ${round} of ${rounds}: ${textOf(attacked)}, alone ${textOf(alone)}`);
        }
        results.push(...rowsOf(attack, measured));
      }
      return results;
    });
  });

/** Deliveries of an attack would go on during the next measurement. */
async function deleteBacklog(client: pg.Client): Promise<void> {
  await client.query('truncate webhook_outbox, webhook_deliveries');
  await sleep(2_000);
}

/** The attacker's agents may read everything of their organization, whose log has many refusals. */
async function prepareAttacker(client: pg.Client, receiverUrl: string): Promise<void> {
  await client.query(
    `update agents set allowed_scopes = array['agents:read', 'audit:read', 'tokens:read', 'webhooks:read']
     where organization_id = (select organization_id from organizations where slug = $1)`,
    [attackingSlug],
  );
  for (let each = 0; each < subscriptions; each += 1)
    await subscribe(client, `${receiverUrl}/${each}`, 'token.issued', attackingSlug);
  await client.query(
    `insert into audit_events
       (event_id, organization_id, agent_id, action, outcome, ip_address, user_agent, metadata, occurred_at)
     select uuidv7(at - now()), organization_id, gen_random_uuid(), 'token.refused', 'failure', '127.0.0.1', 'bench',
            json_build_object('reason', 'reason ' || n % 50, 'requestId', gen_random_uuid()), at
     from organizations, generate_series(1, $2::int) n,
          lateral (select date_trunc('milliseconds', now() - n * interval '1 ms') as at) time
     where slug = $1`,
    [attackingSlug, refusals],
  );
  // Marks the rows as linked, as audit-rows.ts does.
  await client.query(
    `update audit_progress set (settled_before, reached, written_in) =
       (select xid, xid, pg_current_xact_id() from pg_snapshot_xmax(pg_current_snapshot()) xid)`,
  );
  await client.query('vacuum analyze');
}

async function attacksOf({ url }: Serving, agents: readonly Agent[]): Promise<Attack[]> {
  const headers = await Promise.all(
    agents
      .slice(0, 20)
      .map(async (agent) => ({ authorization: `Bearer ${await accessToken(url, tokenRequest(agent))}` })),
  );
  const reading = (...paths: string[]): Request[] =>
    headers.flatMap((each) =>
      paths.map((path) => ({ method: 'GET', path: `/api/v1${path}`, headers: each }) as const),
    );
  return [
    { name: `tokens with ${subscriptions} webhooks`, requests: agents.map(tokenRequest) },
    { name: 'GET /audit?reason=', requests: reading('/audit?reason=reason%207') },
    {
      name: 'overview, usage, analytics and compliance',
      requests: reading('/overview', '/usage?groupBy=agent', '/analytics/agents', '/compliance/report'),
    },
  ];
}

/** The attack starts a second before the measurement, and goes on until its end. */
async function whileAttacked<T>({ url }: Serving, { requests }: Attack, work: () => Promise<T>): Promise<T> {
  const load = createOpenLoad({ url, requests, maxConnections });
  const run = (time: number) => load.run({ perSecond: attacksPerSecond, seconds: time });
  await run(1);
  const attack = run(2 * seconds + 1);
  const result = await work();
  await attack;
  load.close();
  return result;
}

function latencyOf(arrivals: readonly Arrival[]): Latency {
  const times = arrivals.map(({ milliseconds }) => milliseconds);
  const failed = arrivals.filter(({ status }) => status !== 200).length;
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), failed };
}

const textOf = ({ p50, p99, failed }: Latency): string =>
  `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, ${failed} failed`;

function rowsOf({ name }: Attack, measured: readonly { alone: Latency; attacked: Latency }[]): Result[] {
  const ratioRow = (which: 'p50' | 'p99', ceiling: number): Result => {
    const ratio = median(measured.map(({ alone, attacked }) => attacked[which] / alone[which]));
    const typical = (side: 'alone' | 'attacked') =>
      median(measured.map((each) => each[side][which])).toFixed(1);
    return {
      metric: `${which} of POST /token of an organization under the attack of another (${name}) ÷ alone`,
      result: ratio.toFixed(1),
      baseline: `${typical('attacked')} ms ÷ ${typical('alone')} ms, ${whole(attacksPerSecond)} requests per second`,
      target: `at most ${ceiling}`,
      met: ratio <= ceiling,
    };
  };
  const failed = measured.reduce((sum, { attacked }) => sum + attacked.failed, 0);
  return [
    ratioRow('p50', p50Ceiling),
    ratioRow('p99', p99Ceiling),
    {
      metric: `failed tokens of that organization (${name})`,
      result: whole(failed),
      baseline: '–',
      target: 'none',
      met: failed === 0,
    },
  ];
}
