/** One organization's burst of writes uses up neither the database connections of the others nor the health check's. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { createDatabase, environment, execute, newAgent } from '../support/harness.ts';
import { askToken, authorize, type Client, makeOperator, startServe, until } from '../support/programs.ts';

const agentsPerBurst = 8;
const writesPerAgent = 90;

test('201 or 503 with Retry-After for a burst of one organization; 200 for /health and for another; then 201 again', async () => {
  const env = environment(await createDatabase(), { LOG_LEVEL: 'warn' });
  const operator = await makeOperator(env);
  const service = await startServe(env);
  const asOperator = await authorize(service.url, operator);

  const send = (method: string, path: string, headers: Record<string, string>, body?: object) =>
    fetch(`${service.url}/api/v1${path}`, {
      method,
      headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
  const create = async <T>(path: string, body?: object): Promise<T> => {
    const response = await send('POST', path, asOperator, body);
    assert.equal(response.status, 201, await response.clone().text());
    return (await response.json()) as T;
  };
  const createOrganization = async (slug: string) =>
    (
      await create<{ organizationId: string }>('/organizations', {
        name: slug,
        slug,
        planTier: 'enterprise',
      })
    ).organizationId;
  const createAgent = async (organizationId: string) => {
    const allowedScopes = ['agents:read', 'agents:write'];
    const { agentId } = await create<{ agentId: string }>(
      '/agents',
      newAgent({ organization_id: organizationId, allowedScopes }),
    );
    const client = await create<Client>(`/agents/${agentId}/credentials`);
    return { agentId, client, headers: await authorize(service.url, client) };
  };
  const busy = await createOrganization('busy-team');
  const writers = [];
  for (let count = 0; count < agentsPerBurst; count += 1) writers.push(await createAgent(busy));
  const other = await createAgent(await createOrganization('other-team'));
  const storedCredentials = async () =>
    (await execute<{ count: number }>(env.DATABASE_URL, 'select count(*)::int as count from credentials'))[0]
      ?.count as number;
  const before = await storedCredentials();

  // The writes of the busy organization wait for this lock, with the database connections they hold.
  const blocker = new pg.Client({ connectionString: env.DATABASE_URL });
  await blocker.connect();
  await blocker.query('begin; lock table credentials in share row exclusive mode');
  let answered = 0;
  const burst = writers.flatMap(({ agentId, headers }) =>
    Array.from({ length: writesPerAgent }, async () => {
      const response = await send('POST', `/agents/${agentId}/credentials`, headers);
      answered += 1;
      return { response, body: (await response.json()) as { code?: string; message?: string } };
    }),
  );
  await until('writes that wait for the lock', async () => {
    const waiting = await execute(
      env.DATABASE_URL,
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return waiting.length >= 5 || undefined;
  });

  // A slow machine takes seconds to admit or refuse all of them.
  await until('the rest of the burst: refused, or waiting for a place', async () => {
    const seen = answered;
    await delay(500);
    return (seen > 0 && answered === seen) || undefined;
  });

  assert.equal((await fetch(`${service.url}/health`)).status, 200);
  const answers = {
    GET: await send('GET', `/agents/${other.agentId}`, other.headers),
    list: await send('GET', '/agents', other.headers),
    PATCH: await send('PATCH', `/agents/${other.agentId}`, other.headers, { version: '2.0.0' }),
    token: await askToken(service.url, other.client),
    health: await fetch(`${service.url}/health`),
  };
  for (const [which, response] of Object.entries(answers))
    assert.equal(response.status, 200, `${which}: ${await response.text()}`);

  await blocker.query('commit');
  await blocker.end();
  let created = 0;
  for (const { response, body } of await Promise.all(burst)) {
    if (response.status === 201) created += 1;
    else {
      assert.equal(response.status, 503, JSON.stringify(body));
      assert.equal(response.headers.get('retry-after'), '1');
      assert.equal(body.code, 'SERVICE_UNAVAILABLE');
      assert.match(String(body.message), /^The service is overloaded/);
    }
  }
  assert.ok(created >= 5, `${created} created`);
  assert.equal((await storedCredentials()) - before, created);
  for (const { agentId, headers } of writers)
    assert.equal((await send('POST', `/agents/${agentId}/credentials`, headers)).status, 201);

  const [refused] = (await Promise.all(burst)).filter(({ response }) => response.status === 503);
  if (!refused) return;
  assert.match(service.program.output(), /overloaded: a queue is full/);
  assert.doesNotMatch(service.program.output(), /cannot use the database/);
  const metrics = await (await fetch(`${service.url}/metrics`)).text();
  assert.match(metrics, /^service_overload_rejections_total\{queue="\w+"\} [1-9]/m);
});
