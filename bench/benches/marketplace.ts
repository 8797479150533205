/** Marketplace searches with a hundred thousand listings compared with a thousand. */
import { raw } from '../../src/kernel/data/sql.ts';
import type { BenchContext, Result } from '../support/bench.ts';
import { withDatabase } from '../support/database.ts';
import { openApp } from '../support/in-process.ts';
import { fromEnvironment, median, whole } from '../support/rounds.ts';

const few = 1_000;
const many = fromEnvironment('BENCH_LISTINGS', 100_000);
const listingsEach = 1_000;
const samples = fromEnvironment('BENCH_ASKS', 100);
const ceiling = 2;

const searches: Record<string, string> = {
  'no filter, first page': '',
  'no filter, page 40': 'page=40',
  agentType: 'agentType=router',
  'a rare word': 'q=okapi',
  'a word in every hundredth listing': 'q=payroll',
  'a word in every fortieth listing': 'q=ledgers',
  'a word in every tenth listing': 'q=invoices',
  'a word in every listing': 'q=agents',
  'two words and a category': 'q=invoices+agents&category=finance',
  'a rare capability': 'capability=okapi:feed',
  'a capability of all': 'capability=bench:run',
  'category and verified': 'category=finance&verified=true',
  'unused words': 'q=unheard',
};

export const marketplace = ({ databaseUrl, log }: BenchContext): Promise<Result[]> =>
  withDatabase(databaseUrl, 'bench_few_listings', (small) =>
    withDatabase(databaseUrl, 'bench_many_listings', async (large) => {
      const sides = [await open(small, few, log), await open(large, many, log)] as const;
      try {
        const times = await measureAlternating(sides);
        return Object.keys(searches).map((name) => {
          const [before = Number.NaN, after = Number.NaN] = times[name]?.map(median) ?? [];
          return {
            metric: `marketplace search, ${name}: at ${whole(many)} listings ÷ at ${whole(few)}`,
            result: (after / before).toFixed(2),
            baseline: `${after.toFixed(2)} ms ÷ ${before.toFixed(2)} ms`,
            target: `at most ${ceiling}`,
            met: after / before <= ceiling,
          };
        });
      } finally {
        for (const { close } of sides) await close();
      }
    }),
  );

type Side = Awaited<ReturnType<typeof open>>;

/** Alternates between the databases, so that other load on the machine affects both. */
async function measureAlternating(
  sides: readonly [Side, Side],
): Promise<Record<string, [number[], number[]]>> {
  const times = Object.fromEntries(
    Object.keys(searches).map((name): [string, [number[], number[]]] => [name, [[], []]]),
  );
  for (let round = 0; round < samples; round += 1) {
    for (const [name, query] of Object.entries(searches)) {
      for (const side of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
        const started = performance.now();
        await sides[side].search(query);
        if (round >= samples / 5) times[name]?.[side].push(performance.now() - started);
      }
    }
  }
  return times;
}

async function open(databaseUrl: string, listings: number, log: BenchContext['log']) {
  const app = await openApp(databaseUrl);
  const search = async (query: string) => {
    const response = await app.http.server.inject({ url: `/api/v1/marketplace/agents?${query}` });
    if (response.statusCode !== 200) throw new Error(`${query}: ${response.statusCode} ${response.body}`);
    return response.json() as { total: number; data: unknown[] };
  };
  for (let from = 0; from < listings; from += 20_000) {
    const to = Math.min(from + 20_000, listings);
    await fill(app.db, from, to);
    log(`${whole(to)} of ${whole(listings)} listings`);
  }
  await app.db.run(
    'bench.analyze',
    raw('vacuum analyze agents, organizations, listings, listing_index, listing_words, listing_counts'),
  );
  const { total } = await search('');
  if (total !== listings) throw new Error(`total is ${total} instead of ${listings}`);
  return { search, close: () => app.close() };
}

/** Listings number `from` to `to`, a thousand per organization; only twenty of the first thousand are about okapis. */
async function fill(
  db: { run(name: string, sql: ReturnType<typeof raw>): Promise<number> },
  from: number,
  to: number,
) {
  await db.run(
    'bench.organizations',
    raw(`insert into organizations (organization_id, name, slug, plan_tier, status, created_at, updated_at)
         select gen_random_uuid(), 'Bench ' || i, 'market-' || i, 'enterprise', 'active', now(), now()
         from generate_series(${from / listingsEach}, ${to / listingsEach - 1}) i`),
  );
  await db.run(
    'bench.agents',
    raw(`insert into agents (agent_id, organization_id, email, agent_type, version, capabilities, owner, deployment_env,
                             status, allowed_scopes, created_at, updated_at)
         select gen_random_uuid(), o.organization_id, 'market-' || n || '@example.com',
                (array['screener','classifier','orchestrator','extractor','summarizer','router','monitor','custom'])[1 + n % 8],
                '1.0.0', case when n % 50 = 7 and n < 1000 then array['bench:run','okapi:feed'] else array['bench:run'] end,
                'team-' || n, 'production', 'active', '{}', now() - n * interval '1 second', now()
         from generate_series(${from}, ${to - 1}) n join organizations o on o.slug = 'market-' || n / ${listingsEach}`),
  );
  await db.run(
    'bench.listings',
    raw(`insert into listings (listing_id, agent_id, organization_id, title, summary, description, categories, tags, endpoints,
                               pricing, visibility, status, published_at, created_at, updated_at, agent_type, version,
                               capabilities, agent_active, verified)
         select gen_random_uuid(), a.agent_id, a.organization_id, 'Agent ' || a.owner,
                case when a.capabilities @> array['okapi:feed'] then 'Feeds the okapi' else 'One of many agents' end,
                case when right(a.owner, 1) = '3' then 'Reads invoices. ' else '' end ||
                case when right(a.owner, 2) = '42' then 'Does the payroll. ' else '' end ||
                case when substr(a.owner, 6)::int % 40 = 7 then 'Keeps ledgers. ' else '' end || repeat('Agents do things in the ' || a.owner || ' way. ', 6),
                case when right(a.owner, 1) in ('3', '4') then array['finance'] else array['other'] end, '{}', '[]',
                '{"model":"free"}', 'public', 'published', a.created_at, a.created_at, a.created_at, a.agent_type, a.version,
                a.capabilities, true, true
         from agents a where not exists (select from listings l where l.agent_id = a.agent_id)`),
  );
}
