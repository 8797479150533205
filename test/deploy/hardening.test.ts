/** The roles of docs/operations/hardening.md: programs need no more rights than the page gives them. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { createDatabase, environment, execute, newAgent, skipWithout } from '../support/harness.ts';
import {
  askToken,
  authorize,
  bootstrap,
  makeOperator,
  startCountersign,
  startRedis,
  startServe,
  withRedis,
} from '../support/programs.ts';

const page = readFileSync(new URL('../../docs/operations/hardening.md', import.meta.url), 'utf8');
const [forOwner = '', forOthers = ''] = [...page.matchAll(/^```sql\n([\s\S]*?)^```/gm)].map(
  ([, block = '']) => block,
);

const cluster = process.env.TEST_POSTGRES_URL ?? '';
const name = `hardened_${randomBytes(6).toString('hex')}`;
const named = (block: string): string[] =>
  block
    .replaceAll(/\bcountersign(?=_reader\b|_serve\b|\b)/g, name)
    .split(';')
    .map((statement) => statement.trim())
    .filter(Boolean);
const urlOf = (role?: string, password?: string): string => {
  const url = new URL(`/${name}`, cluster);
  if (role !== undefined) Object.assign(url, { username: role, password });
  return url.href;
};
const maintenance = new URL('/postgres', cluster).href;

test('the worker owns the tables, the serving node only reads and writes rows, and the reader changes nothing', async () => {
  after(async () => {
    await execute(maintenance, `drop database if exists ${name} with (force)`);
    for (const role of [`${name}_serve`, `${name}_reader`, name])
      await execute(maintenance, `drop role if exists ${role}`);
  });
  for (const statement of named(forOwner)) await execute(maintenance, statement);
  for (const statement of named(forOthers)) await execute(urlOf(), statement);
  const settings = { LOG_LEVEL: 'warn', DATA_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') };
  const owner = environment(urlOf(name, 'change-me'), settings);
  const serving = environment(urlOf(`${name}_serve`, 'change-me-too'), settings);
  for (const { DATABASE_URL } of [owner, serving])
    assert.deepEqual(
      await execute(
        DATABASE_URL,
        'select rolsuper or rolcreatedb or rolcreaterole or rolreplication or rolbypassrls as more from pg_roles where rolname = current_user',
      ),
      [{ more: false }],
    );

  const early = startCountersign(['serve', '--no-worker'], { ...serving, PORT: '1' });
  assert.equal(await early.gone(), 1);
  assert.match(early.output(), /the database role lacks a privilege/);

  const operator = await bootstrap(owner);
  const worker = startCountersign(['worker'], owner);
  const { url, program } = await startServe(serving, ['--no-worker']);
  const headers = await authorize(url, operator);
  const post = async (path: string, body: object) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    assert.equal(response.status, 201, text);
    return JSON.parse(text);
  };
  const { agentId } = await post('/agents', newAgent());
  const client = await post(`/agents/${agentId}/credentials`, {});
  assert.equal((await askToken(url, client)).status, 200);
  await post('/webhooks', { name: 'Any', url: 'https://receiver.example/', events: ['agent.created'] });
  const verified = await fetch(`${url}/api/v1/audit/verify`, { headers });
  assert.equal(((await verified.json()) as { verified: boolean }).verified, true);
  const rotating = startCountersign(['rotate-encryption-key'], serving);
  assert.equal(await rotating.gone(), 0, rotating.output());
  for (const each of [program, worker]) {
    each.kill('SIGTERM');
    assert.equal(await each.gone(), 0, each.output());
    assert.doesNotMatch(each.output(), /permission denied|must be owner|background loop failed/);
  }
  const verifying = startCountersign(['audit', 'verify'], owner);
  assert.equal(await verifying.gone(), 0, verifying.output());

  const forbidden: Record<string, readonly string[]> = {
    [serving.DATABASE_URL]: [
      'create table mine (id int)',
      'drop table audit_events',
      'alter table audit_events disable trigger all',
      'truncate agents',
    ],
    [urlOf(`${name}_reader`, 'change-me-as-well')]: [
      'delete from audit_events',
      "update agents set owner = 'me'",
      'create table mine (id int)',
      'begin; lock table audit_progress in exclusive mode',
    ],
  };
  for (const [role, statements] of Object.entries(forbidden)) {
    const [count] = await execute<{ n: number }>(role, 'select count(*)::int as n from audit_events');
    assert.ok((count?.n ?? 0) > 0);
    for (const statement of statements)
      await assert.rejects(execute(role, statement), /permission denied|must be owner/, statement);
  }
});

test('the Redis user of the page is enough for a server', async (t) => {
  const redis = await startRedis();
  if (!redis) return skipWithout(t, 'redis-server');
  const [command = '', ...words] = /^ACL SETUSER .*$/m.exec(page)?.[0].split(' ') ?? [];
  await withRedis(redis.port, async (client) => {
    await client.call(command, ...words);
    await client.call('ACL', 'SETUSER', 'default', 'off');
  });
  const env = environment(await createDatabase(), {
    LOG_LEVEL: 'warn',
    REDIS_URL: `redis://countersign:change-me@127.0.0.1:${redis.port}`,
  });
  const operator = await makeOperator(env);
  const { url, program } = await startServe(env);
  const headers = await authorize(url, operator);
  const listed = await fetch(`${url}/api/v1/agents`, { headers });
  assert.equal(listed.status, 200, await listed.text());
  const form = new URLSearchParams({ token: headers.authorization.slice('Bearer '.length) });
  const revoked = await fetch(`${url}/api/v1/token/revoke`, { method: 'POST', headers, body: form });
  assert.equal(revoked.status, 200, await revoked.text());
  assert.equal((await fetch(`${url}/api/v1/agents`, { headers })).status, 401);
  const health = (await (await fetch(`${url}/health`)).json()) as { checks: { redis: string } };
  assert.equal(health.checks.redis, 'ok');
  assert.doesNotMatch(program.output(), /redis unavailable|NOPERM/i);
});
