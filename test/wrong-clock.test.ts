/** Clock skew: a process with a wrong clock deletes no valid rows and keeps recording. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { createDatabase, environment } from './support/harness.ts';
import { askToken, makeOperator, startServe, until } from './support/programs.ts';
import { auditLinks } from './support/scenarios/audit-log.ts';

const dayMs = 86_400_000;

/** Starts a server whose clock is off by `days`, and jumps by `leap` more on SIGUSR2. */
async function startAt(days: number, leap = 0) {
  const databaseUrl = await createDatabase();
  const env = environment(databaseUrl);
  const operator = await makeOperator(env);
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(
    `insert into token_revocations (token_id, agent_id, revoked_at, expires_at)
     select gen_random_uuid(), agent_id, now(), now() + interval '1 hour' from agents limit 1`,
  );
  const count = async (table: string) =>
    Number((await client.query(`select count(*) from ${table}`)).rows[0].count);
  const events = await count('audit_events');
  const clock = `
    const { now } = Date;
    let off = ${days * dayMs};
    Date.now = () => now() + off;
    process.on('SIGUSR2', () => { off += ${leap * dayMs}; console.log('leapt'); });`;
  const { url, program } = await startServe({
    ...env,
    LOG_LEVEL: 'info',
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(clock)}`,
  });
  const said = (text: string) => program.output().split(text).length - 1;
  return { url, program, operator, client, count, events, said };
}

test('a clock 100 days ahead deletes no row that has not expired by the database clock', async () => {
  const { url, program, operator, client, count, events, said } = await startAt(100);
  assert.ok(events > 0);
  // Every loop runs once at the start, also those that delete.
  const held = async () => said('is ahead of the database') >= 7 || undefined;
  await until('every loop that deletes pauses', held, program);
  assert.equal((await askToken(url, operator)).status, 200);
  assert.equal(await count('audit_events'), events + 1);
  assert.equal(await count('token_revocations'), 1);
  await client.end();
});

for (const days of [9, -9]) {
  test(`tokens are issued, recorded and linked after a clock jump of ${days} days`, async () => {
    const { url, program, operator, client, count, events, said } = await startAt(0, days);
    const linkedOf = (wanted: number) => async () => (await count(`${auditLinks} l`)) === wanted || undefined;
    // A tree head is never older than the one before. The first one of all has the time of the process.
    await until('the first events are linked', linkedOf(events), program);
    assert.equal((await askToken(url, operator)).status, 200);
    program.kill('SIGUSR2');
    await until('it has leapt', async () => said('leapt') || undefined, program);
    assert.equal((await askToken(url, operator)).status, 200);
    assert.equal((await askToken(url, operator)).status, 200);
    await until('all of it is linked', linkedOf(events + 3), program);
    await client.end();
  });
}
