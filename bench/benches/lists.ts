/** Lists and lookups of agents with a million agents compared with a thousand. */
import { createOperator } from '../../src/commands/bootstrap.ts';
import { raw } from '../../src/kernel/data/sql.ts';
import type { BenchContext, Result } from '../support/bench.ts';
import { openApp } from '../support/in-process.ts';

const organizations = 1_000;
const agentsEach = 1_000;
const samples = 300;
const ceiling = 2;

export async function lists({ databaseUrl, log }: BenchContext): Promise<Result[]> {
  const app = await openApp(databaseUrl);
  try {
    const operator = await createOperator(app, true);
    const call = async (method: 'GET' | 'POST', url: string, options: object = {}) => {
      const response = await app.http.server.inject({ method, url, ...options });
      if (response.statusCode >= 300)
        throw new Error(`${method} ${url}: ${response.statusCode} ${response.body}`);
      return response.json();
    };
    const tokenOf = async (client: { clientId: string; clientSecret: string }) =>
      (
        await call('POST', '/api/v1/token', {
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          payload: `grant_type=client_credentials&client_id=${client.clientId}&client_secret=${client.clientSecret}`,
        })
      ).access_token as string;

    log(`${agentsEach} agents in one organization`);
    await fill(app.db, 1, 1);
    const headers = { authorization: `Bearer ${await tokenOf(operator)}` };
    const { data } = await call('GET', '/api/v1/organizations?limit=100', { headers });
    const organizationId = data.find(({ slug }: { slug: string }) => slug === 'bench-1').organizationId;
    const agent = await call('POST', '/api/v1/agents', {
      headers,
      payload: { ...caller, organization_id: organizationId, allowedScopes: ['agents:read'] },
    });
    const credential = await call('POST', `/api/v1/agents/${agent.agentId}/credentials`, { headers });
    const own = { authorization: `Bearer ${await tokenOf(credential)}` };

    // A different agent each time, since the server caches recent ones.
    const agents: string[] = [];
    for (let page = 1; page <= agentsEach / 100; page += 1) {
      const listed = await call('GET', `/api/v1/agents?limit=100&page=${page}`, { headers: own });
      agents.push(...listed.data.map(({ agentId }: { agentId: string }) => `/api/v1/agents/${agentId}`));
    }
    let next = 0;
    const urls: Record<string, string | (() => string)> = {
      'GET /agents, first page': '/api/v1/agents',
      'GET /agents, deep page': `/api/v1/agents?limit=20&page=${agentsEach / 20}`,
      'GET /agents?owner': '/api/v1/agents?owner=team-3',
      'GET /agents?agentType': '/api/v1/agents?agentType=router',
      'GET /agents?status': '/api/v1/agents?status=suspended',
      'GET /agents?owner&agentType&status': '/api/v1/agents?owner=team-3&agentType=router&status=active',
      'GET /agents/{agentId}': () => agents[next++ % agents.length] as string,
    };
    const operators: Record<string, string> = {
      'GET /agents, first page, by the operator': '/api/v1/agents',
      'GET /agents?owner, by the operator, of a small owner': '/api/v1/agents?owner=bench',
    };
    const measure = async () => {
      const medians: Record<string, number> = {};
      for (const [name, url] of Object.entries({ ...urls, ...operators })) {
        const as = name in operators ? headers : own;
        const nextUrl = typeof url === 'string' ? () => url : url;
        for (let warm = 0; warm < samples / 3; warm += 1) await call('GET', nextUrl(), { headers: as });
        const times: number[] = [];
        for (let sample = 0; sample < samples; sample += 1) {
          const started = performance.now();
          await call('GET', nextUrl(), { headers: as });
          times.push(performance.now() - started);
        }
        medians[name] = times.toSorted((a, b) => a - b)[Math.floor(samples / 2)] ?? Number.NaN;
      }
      return medians;
    };

    const few = await measure();
    const totalBefore = (await call('GET', '/api/v1/agents', { headers: own })).total;
    for (let first = 2; first <= organizations; first += 111) {
      const last = Math.min(first + 110, organizations);
      await fill(app.db, first, last);
      log(
        `${(last * agentsEach).toLocaleString('en')} of ${(organizations * agentsEach).toLocaleString('en')} agents`,
      );
    }
    const many = await measure();
    const totalAfter = (await call('GET', '/api/v1/agents', { headers: own })).total;
    if (totalBefore !== agentsEach + 1 || totalAfter !== totalBefore) throw new Error('total is not exact');

    return Object.keys({ ...urls, ...operators }).map((name) => {
      const [small = Number.NaN, large = Number.NaN] = [few[name], many[name]];
      return {
        metric: `${name}: at 1,000,000 agents ÷ at 1,000`,
        result: (large / small).toFixed(2),
        baseline: `${large.toFixed(2)} ms ÷ ${small.toFixed(2)} ms`,
        target: `at most ${ceiling}`,
        met: large / small <= ceiling,
      };
    });
  } finally {
    await app.close();
  }
}

const caller = {
  email: 'bench-caller@example.com',
  agentType: 'custom',
  version: '1.0.0',
  capabilities: ['bench:run'],
  owner: 'bench',
  deploymentEnv: 'development',
};

/** Organizations number `from` to `to`, each with its thousand agents, spread over owners, types and statuses. */
async function fill(
  db: { run(name: string, sql: ReturnType<typeof raw>): Promise<number> },
  from: number,
  to: number,
) {
  await db.run(
    'bench.organizations',
    raw(`insert into organizations (organization_id, name, slug, plan_tier, status, created_at, updated_at)
         select gen_random_uuid(), 'Bench ' || i, 'bench-' || i, 'enterprise', 'active', now(), now()
         from generate_series(${from}, ${to}) i`),
  );
  await db.run(
    'bench.agents',
    raw(`insert into agents (agent_id, organization_id, email, agent_type, version, capabilities, owner, deployment_env,
                             status, allowed_scopes, created_at, updated_at)
         select gen_random_uuid(), o.organization_id, o.slug || '-' || n || '@example.com',
                (array['screener','classifier','orchestrator','extractor','summarizer','router','monitor','custom'])[1 + n % 8],
                '1.0.0', array['bench:run'], 'team-' || n % 10, 'production',
                case when n % 20 = 0 then 'suspended' else 'active' end, array['agents:read'],
                now() - n * interval '1 second', now()
         from organizations o, generate_series(1, ${agentsEach}) n
         where o.slug in (select 'bench-' || i from generate_series(${from}, ${to}) i)`),
  );
  await db.run('bench.analyze', raw('analyze agents, organizations, agent_counts'));
}
