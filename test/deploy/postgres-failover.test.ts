/**
 * A failover of PostgreSQL under load, with synchronous replication and several hosts in DATABASE_URL. src/adapters/postgres/hosts.test.ts
 * tests the choice of the host alone.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgresPair } from '../support/deploy/databases/postgres-pair.ts';
import { environment, execute, newAgent, skipWithout } from '../support/harness.ts';
import {
  askToken,
  authorize,
  type Client,
  makeOperator,
  type Service,
  startServe,
  until,
} from '../support/programs.ts';

/** Keeps asking for tokens and creating agents; remembers all that the service has acknowledged. */
function startLoad({ url }: Service, operator: Client, headers: Record<string, string>) {
  const tokens: string[] = [];
  const agents: string[] = [];
  const refusals: (number | string)[] = [];
  let stopped = false;
  // A failed test does not call stop().
  after(() => {
    stopped = true;
  });
  const repeat = async (ask: () => Promise<Response>, success: number, keep: (body: string) => void) => {
    while (!stopped) {
      try {
        const response = await ask();
        const body = await response.text();
        if (response.status === success) keep(body);
        else refusals.push(response.status);
      } catch (error) {
        refusals.push(String((error as Error).cause ?? error));
      }
      await sleep(10);
    }
  };
  const jtiOf = (token: string) =>
    JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).jti;
  const addAgent = () =>
    fetch(`${url}/api/v1/agents`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(newAgent()),
    });
  const clients = Promise.all([
    ...Array.from({ length: 6 }, () =>
      repeat(
        () => askToken(url, operator),
        200,
        (body) => tokens.push(jtiOf(JSON.parse(body).access_token)),
      ),
    ),
    ...Array.from({ length: 3 }, () =>
      repeat(addAgent, 201, (body) => agents.push(JSON.parse(body).agentId)),
    ),
  ]);
  const untilMore = async (count: number, service: Service) => {
    const [wantedTokens, wantedAgents] = [tokens.length + count, agents.length + count / 5];
    await until(
      `${count} further tokens`,
      async () => (tokens.length > wantedTokens && agents.length > wantedAgents) || undefined,
      service.program,
    );
  };
  return {
    tokens,
    agents,
    refusals,
    untilMore,
    async stop() {
      stopped = true;
      await clients;
    },
  };
}

const countOf = async (url: string, text: string, values: unknown[] = []) =>
  (await execute<{ count: number }>(url, text, values))[0]?.count ?? -1;

async function assertAllThere(url: string, soFar: { tokens: readonly string[]; agents: readonly string[] }) {
  // The load goes on.
  const [tokens, agents] = [[...soFar.tokens], [...soFar.agents]];
  const stored = await execute<{ id: string }>(
    url,
    `select metadata ->> 'tokenId' as id from audit_events where action = 'token.issued'`,
  );
  const recorded = new Set(stored.map(({ id }) => id));
  assert.deepEqual(
    tokens.filter((id) => !recorded.has(id)),
    [],
    'every acknowledged token is recorded',
  );
  const found = await countOf(
    url,
    'select count(*)::int as count from agents where agent_id = any($1::uuid[])',
    [agents],
  );
  assert.equal(found, agents.length, 'every acknowledged agent exists');
}

test('a promoted standby has all that was acknowledged; the service goes on; a former primary gets no writes', async (t) => {
  const pair = await startPostgresPair();
  if (!pair) return skipWithout(t, 'PostgreSQL with pg_basebackup');
  const { primary, standby } = pair;
  const env = environment(pair.url, { LOG_LEVEL: 'warn' });
  const operator = await makeOperator(env);
  await pair.makeSynchronous();
  const service = await startServe(env);
  const headers = await authorize(service.url, operator);
  const load = startLoad(service, operator, headers);
  await load.untilMore(200, service);

  primary.program.kill('SIGKILL');
  await primary.program.ended();
  const readiness = async () => (await fetch(`${service.url}/readyz`)).status;
  await until('the service is not ready', async () => (await readiness()) === 503 || undefined);
  assert.equal((await fetch(`${service.url}/livez`)).status, 200);
  await pair.promote();
  await until(
    'the service is ready',
    async () => (await readiness()) === 200 || undefined,
    service.program,
    60_000,
  );
  await load.untilMore(100, service);
  assert.match(service.program.output(), /another database server accepts the writes; using it/);
  await assertAllThere(standby.url, load);

  // The former primary returns, alone, and would take writes.
  const returned = await primary.restart();
  await execute(returned.url, `alter system set synchronous_standby_names = ''`);
  await execute(returned.url, 'select pg_reload_conf()');
  const before = await countOf(returned.url, 'select count(*)::int as count from audit_events');
  for (let round = 0; round < 3; round += 1) {
    await execute(
      standby.url,
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'countersign%'`,
    );
    await load.untilMore(20, service);
  }
  await load.stop();
  const second = await startServe(env);
  assert.equal((await askToken(second.url, operator)).status, 200);
  const added = await fetch(`${second.url}/api/v1/agents`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(newAgent()),
  });
  assert.equal(added.status, 201);
  load.agents.push(((await added.json()) as { agentId: string }).agentId);
  assert.match(second.program.output(), /a former primary of the database accepts writes; not using it/);
  assert.equal(
    await countOf(returned.url, 'select count(*)::int as count from audit_events'),
    before,
    'nothing was written to the former primary',
  );

  await assertAllThere(standby.url, load);
  const answer = await fetch(`${second.url}/api/v1/audit/verify`, { headers });
  assert.equal(((await answer.json()) as { verified: boolean }).verified, true);
  assert.deepEqual(
    load.refusals.filter((refusal) => refusal !== 503),
    [],
    'a request during the failover gets 503',
  );
  assert.doesNotMatch(service.program.output(), /background loop failed/);
});
