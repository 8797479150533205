/** Beyond its capacity the token endpoint refuses early; what it accepts it finishes, and other routes do not wait. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDatabase, environment, execute } from '../support/harness.ts';
import { askToken, authorize, makeOperator, startServe, until } from '../support/programs.ts';

/** Each token takes PostgreSQL this long, so the capacity is the same on every machine. */
const secondsPerToken = 0.015;

test('503 temporarily_unavailable with Retry-After beyond the capacity; every issued token is recorded; then 200 again', async () => {
  const env = environment(await createDatabase(), { RATE_LIMIT_PER_MINUTE: '100000' });
  const operator = await makeOperator(env);
  const service = await startServe(env);
  const headers = await authorize(service.url, operator);
  const slowDown = (seconds: number) =>
    execute(
      env.DATABASE_URL,
      `create or replace function slow() returns trigger language plpgsql as $$ begin
         perform pg_sleep(${seconds}); return new; end $$;
       create or replace trigger slow before insert on audit_events for each row
         when (new.action = 'token.issued') execute function slow()`,
    );

  /** The statuses in the order of the answers. */
  const statuses: number[] = [];
  const send = async () => {
    const response = await askToken(service.url, operator);
    statuses.push(response.status);
    return { response, body: (await response.json()) as { error?: string } };
  };
  const burst = (count: number) => Array.from({ length: count }, send);

  await slowDown(secondsPerToken);
  const first = burst(260);
  await until('a full batch', async () => statuses.length > 100 || undefined);
  const second = burst(240);
  // They answer while tokens are still being issued.
  assert.equal((await fetch(`${service.url}/health`)).status, 200);
  assert.equal((await fetch(`${service.url}/api/v1/agents`, { headers })).status, 200);
  assert.ok(statuses.length < 500, 'the tokens are still being issued');

  const answers = await Promise.all([...first, ...second]);
  const refused = answers.filter(({ response }) => response.status === 503);
  assert.ok(refused.length > 0 && refused.length < 240, `${refused.length} refused`);
  for (const { response, body } of refused) {
    assert.equal(response.headers.get('retry-after'), '1');
    assert.ok(response.headers.has('x-ratelimit-remaining'));
    assert.equal(body.error, 'temporarily_unavailable');
  }
  assert.deepEqual(new Set(statuses), new Set([200, 503]));
  assert.ok(statuses.lastIndexOf(503) < statuses.lastIndexOf(200), 'refusals do not wait in the queue');

  await slowDown(0);
  for (const { response } of await Promise.all(burst(50))) assert.equal(response.status, 200);
  const [recorded] = await execute<{ count: number }>(
    env.DATABASE_URL,
    `select count(*)::int as count from audit_events where action = 'token.issued'`,
  );
  const issued = statuses.filter((status) => status === 200).length;
  assert.equal(recorded?.count, issued + 1, 'those of the bursts, and the first of the test');
});
