/** Analytics after ten million tokens compared with after a thousand. */
import { createOperator } from '../../src/commands/bootstrap.ts';
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import { type Agent, secretOf } from '../support/agents.ts';
import type { BenchContext, Result } from '../support/bench.ts';
import { prepareDatabase, withClient, withDatabase } from '../support/database.ts';
import { openApp } from '../support/in-process.ts';
import { median, whole } from '../support/rounds.ts';

const days = 90;
const agentsEach = 100;
const few = 1_000;
const many = 10_000_000;
const samples = 300;
const ceiling = 2;

const urls = [
  '/analytics/tokens',
  '/analytics/tokens?days=90',
  '/analytics/agents/activity',
  '/analytics/agents',
];

export const analytics = ({ databaseUrl, log }: BenchContext): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_analytics', async (database) => {
    const keys = generateKeyPair();
    await prepareDatabase(database, keys, 2);
    log(`${whole(few)} tokens of one organization, ${whole(many)} of another, over ${days} days`);
    const [small, large] = [await fill(database, 'bench-1', few), await fill(database, 'bench-2', many)];
    await withClient(database, (client) => client.query('vacuum analyze'));
    const app = await openApp(database, keys);
    try {
      await createOperator(app, true);
      const { server } = app.http;
      const headersOf = async (agent: Agent) => {
        const answer = await server.inject({
          method: 'POST',
          url: '/api/v1/token',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          payload: `grant_type=client_credentials&client_id=${agent.agentId}&client_secret=${secretOf(agent)}`,
        });
        return { authorization: `Bearer ${answer.json().access_token}` };
      };
      const asSmall = await headersOf(small);
      const asLarge = await headersOf(large);
      const time = async (url: string, headers: Record<string, string>) => {
        const started = performance.now();
        const { statusCode, body } = await server.inject({ method: 'GET', url: `/api/v1${url}`, headers });
        if (statusCode !== 200) throw new Error(`${url}: ${statusCode} ${body}`);
        return performance.now() - started;
      };
      const { data } = (
        await server.inject({ method: 'GET', url: '/api/v1/analytics/tokens?days=90', headers: asLarge })
      ).json();
      const counted = data.reduce((sum: number, day: { count: number }) => sum + day.count, 0);
      if (counted !== many + 1) throw new Error(`${counted} tokens are counted instead of ${many + 1}`);

      const results: Result[] = [];
      for (const url of urls) {
        const times = { small: [] as number[], large: [] as number[] };
        // Alternating, so that other load on the machine affects both; the first third is the warm-up.
        for (let sample = 0; sample < samples * 1.5; sample += 1) {
          const pair = [await time(url, asSmall), await time(url, asLarge)] as const;
          if (sample < samples / 2) continue;
          times.small.push(pair[0]);
          times.large.push(pair[1]);
        }
        const [after, before] = [median(times.large), median(times.small)];
        results.push({
          metric: `GET ${url}: after ${whole(many)} tokens ÷ after ${whole(few)}`,
          result: (after / before).toFixed(2),
          baseline: `${after.toFixed(2)} ms ÷ ${before.toFixed(2)} ms`,
          target: `at most ${ceiling}`,
          met: after / before <= ceiling,
        });
      }
      return results;
    } finally {
      await app.close();
    }
  });

/** Rows as the usage counters write them: one per hour, those of the last day in several shards. */
const fill = (database: string, slug: string, tokens: number): Promise<Agent> =>
  withClient(database, async (client) => {
    const { rows } = await client.query<Agent>(
      `select agent_id as "agentId", organization_id as "organizationId"
       from agents join organizations o using (organization_id) where o.slug = $1 order by agent_id limit $2`,
      [slug, agentsEach],
    );
    const [agent] = rows;
    if (!agent) throw new Error(`there is no organization ${slug}`);
    const hours = days * 24;
    // Spreads the tokens evenly over the hours.
    await client.query(
      `insert into token_hours (organization_id, hour, shard, tokens)
       select $1::uuid, date_trunc('hour', now()) - make_interval(hours => h), s.shard, (share + s.shards - 1 - s.nth) / s.shards
       from (select h, $2::bigint * (h + 1) / $3 - $2::bigint * h / $3 as share from generate_series(0, $3 - 1) h) shares,
            lateral (select nth, case when h < 24 then 4 else 1 end as shards, case when h < 24 then nth + 1 else 0 end as shard
                     from generate_series(0, 3) nth where h < 24 or nth = 0) s
       where share > 0 and (share + s.shards - 1 - s.nth) / s.shards > 0 and h < $3 - 24`,
      [agent.organizationId, tokens, hours],
    );
    // The API cuts the first day off at midnight, so the remainder is counted for today.
    await client.query(
      `insert into token_hours (organization_id, hour, shard, tokens)
       select $1::uuid, date_trunc('hour', now()), 5, $2::bigint - sum(tokens) from token_hours where organization_id = $1
       having $2::bigint - sum(tokens) > 0`,
      [agent.organizationId, tokens],
    );
    await client.query(
      `insert into token_months (organization_id, month, agent_id, shard, tokens)
       select $1::uuid, date_trunc('month', now())::date, agent_id, shard, $2::bigint / 3 / $3 / 4
       from unnest($4::uuid[]) agent_id, generate_series(1, case when $2::bigint > 1000000 then 4 else 1 end) shard`,
      [agent.organizationId, tokens, agentsEach, rows.map(({ agentId }) => agentId)],
    );
    return agent;
  });
