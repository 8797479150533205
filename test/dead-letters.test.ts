/** Dead letters of a `worker` process, whose /metrics is not scraped here, beside `serve --no-worker`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { environment } from './support/harness.ts';
import { authorityFile, startReceiver } from './support/peers/receivers.ts';
import { startCountersign, startServe, until } from './support/programs.ts';
import { startWebhookApp } from './support/scenarios/webhooks.ts';

const settings = {
  WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
  WEBHOOK_MAX_RETRIES: '1',
  LOG_LEVEL: 'warn',
  NODE_EXTRA_CA_CERTS: authorityFile,
};

test('every process that serves /metrics counts a dead letter of the worker; the log has it once', async () => {
  const t = await startWebhookApp(settings);
  const receiver = await startReceiver((_request, response) => void response.writeHead(500).end());
  const { id } = await t.subscribe(`${receiver.url}/hooks/path-secret?key=query-secret`);
  const env = environment(t.databaseUrl, settings);
  const { url } = await startServe(env, ['--no-worker']);
  await t.raiseEvent();
  const worker = startCountersign(['worker'], env);
  const exposition = async () => (await fetch(`${url}/metrics`)).text();
  const line = /^service_webhook_dead_letters_total\{event_type="agent.created"\} (\d+)$/m;
  const count = async () => Number(line.exec(await exposition())?.[1] ?? 0);
  await until('the counter', async () => (await count()) === 1 || undefined, worker);
  assert.match(await exposition(), /^# TYPE service_webhook_dead_letters_total counter$/m);
  const elsewhere = async () => line.test((await t.call('GET', '/metrics')).text) || undefined;
  await until('another process', elsewhere);

  // The line follows the commit that the counters show.
  const lines = /.*webhook delivery failed for the last time.*\n/g;
  const warnings = await until('the log', async () => worker.output().match(lines) ?? undefined, worker);
  const [delivery] = await t.deliveries(id);
  assert.equal(warnings.length, 1, worker.output());
  const { level, deliveryId, subscriptionId, receiver: where, httpStatus } = JSON.parse(warnings[0] ?? '');
  assert.deepEqual(
    [level, deliveryId, subscriptionId, where, httpStatus],
    [40, delivery?.id, id, receiver.url, 500],
  );
  assert.doesNotMatch(warnings[0] ?? '', /path-secret|query-secret|whsec/);
});
