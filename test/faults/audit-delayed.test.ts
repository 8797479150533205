/** No process links the audit events: the serving process says so, and says when they are linked again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDatabase, environment } from '../harness.ts';
import { askToken, makeOperator, startCountersign, startServe, until } from '../programs.ts';

test('200 with audit.status delayed while the worker is dead, and ok again once it runs', async () => {
  const env = environment(await createDatabase(), { LOG_LEVEL: 'info' });
  const operator = await makeOperator(env);
  const { url, program } = await startServe(env, ['--no-worker']);
  const audit = async () => {
    const response = await fetch(`${url}/health`);
    assert.equal(response.status, 200);
    return ((await response.json()) as { audit: { status: string } }).audit.status;
  };
  const statusIs = (wanted: string) =>
    until(
      `audit.status ${wanted}`,
      async () => {
        assert.equal((await askToken(url, operator)).status, 200);
        return (await audit()) === wanted || undefined;
      },
      program,
    );
  await statusIs('delayed');
  await until(
    'the metric',
    async () =>
      /^service_audit_linking_delayed 1$/m.test(await (await fetch(`${url}/metrics`)).text()) || undefined,
    program,
  );
  assert.match(program.output(), /"level":50.*audit events are not linked in time/);

  const worker = startCountersign(['worker'], env);
  await until(
    'the worker',
    async () => worker.output().includes('the background loops are running') || undefined,
    worker,
  );
  await statusIs('ok');
});
