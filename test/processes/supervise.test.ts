/** WEB_CONCURRENCY: several serving processes behind one port. */
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { runCommand } from '../support/command-line.ts';
import { environment } from '../support/harness.ts';
import { startRelay } from '../support/peers/relay.ts';
import {
  assertEndsUnderLoad,
  getOnNewConnection,
  isGone,
  requestCount,
  requestsByProcess,
  startTwoProcesses,
} from '../support/processes.ts';
import { freePort, startCountersign, until } from '../support/programs.ts';

const sum = (counts: Map<number, number>) => counts.values().reduce((total, count) => total + count, 0);

test('two processes behind one port', async (t) => {
  const two = await startTwoProcesses(t);
  if (!two) return;
  const { service, headers } = two;

  await t.test('/metrics of each process covers all processes', async () => {
    const answers = await Promise.all(
      Array.from({ length: 60 }, () => getOnNewConnection(service, '/api/v1/agents', headers)),
    );
    assert.ok(answers.every(({ status }) => status === 200));
    // A request is counted after its response is sent, so a client may see the response earlier.
    await until('the last is counted', async () => {
      const { body } = await getOnNewConnection(service, '/metrics');
      return requestCount(body, '/api/v1/agents') === 60 || undefined;
    });
    const before = requestsByProcess(service);
    const repeated: string[] = [];
    while (repeated.length < 20) repeated.push((await getOnNewConnection(service, '/metrics')).body);
    for (const body of repeated) assert.equal(requestCount(body, '/api/v1/agents'), 60);
    await until('the lines', async () => sum(requestsByProcess(service)) >= sum(before) + 20 || undefined);
    for (const [pid, count] of requestsByProcess(service))
      assert.ok(count > (before.get(pid) ?? 0), 'both were asked');
    assert.match(repeated[0] ?? '', /^service_db_pool_active_connections \d+$/m);
  });

  await t.test(
    'the supervisor replaces a killed process while the other serves; counters do not decrease, its gauges are removed',
    async () => {
      for (let count = 0; count < 20; count += 1)
        await getOnNewConnection(service, '/api/v1/agents', headers);
      const { body: before } = await getOnNewConnection(service, '/metrics');
      assert.ok(onlyUp(before).size > 50);
      const [victim = 0] = requestsByProcess(service).keys();
      process.kill(victim, 'SIGSTOP');
      t.after(() => isGone(victim) || process.kill(victim, 'SIGKILL'));
      // One connection may go to the stopped process before the supervisor notices.
      const { body: frozen } = await Promise.any(
        [1, 2, 3].map(() => getOnNewConnection(service, '/metrics')),
      );
      requireNoneDown(before, frozen);
      process.kill(victim, 'SIGKILL');
      const seen = /serving process exited; starting another/;
      await until('the loss is seen', async () => seen.test(service.program.output()) || undefined);
      const { body: alone } = await getOnNewConnection(service, '/metrics');
      requireNoneDown(frozen, alone);
      const memory = (exposition: string) =>
        Number(/^process_resident_memory_bytes (\S+)$/m.exec(exposition)?.[1] ?? 0);
      assert.ok(memory(alone) < memory(before) * 0.75, `${memory(before)} ${memory(alone)}`);
      const statuses: unknown[] = [];
      await until('a third process', async () => {
        statuses.push(await getOnNewConnection(service, '/health').then(({ status }) => status, String));
        return requestsByProcess(service).size === 3 || undefined;
      });
      assert.deepEqual(new Set(statuses), new Set([200]));
      requireNoneDown(alone, (await getOnNewConnection(service, '/metrics')).body);
    },
  );

  await t.test('SIGTERM: accepted connections are answered, others are refused, and all end', () =>
    assertEndsUnderLoad(t, service, ({ program }) => program.kill('SIGTERM')),
  );
});

/** Every series that must never go down, with its value. */
function onlyUp(exposition: string): Map<string, number> {
  const counters = new Set(
    exposition.matchAll(/^# TYPE (\S+) (?:counter|histogram)$/gm).map(([, name = '']) => name),
  );
  const lines = exposition.matchAll(/^((\w+?)(?:_bucket|_sum|_count)?(?:\{.*\})?) (\S+)$/gm);
  return new Map(
    lines
      .filter(([, , name = '']) => counters.has(name))
      .map(([, series = '', , value]) => [series, Number(value)]),
  );
}

function requireNoneDown(before: string, after: string): void {
  const now = onlyUp(after);
  for (const [series, value] of onlyUp(before)) {
    assert.ok((now.get(series) ?? 0) >= value, `${series}: ${value}, then ${now.get(series)}`);
  }
}

test('two processes whose database goes away', async (t) => {
  const relay = await startRelay(Number(new URL(process.env.TEST_POSTGRES_URL ?? '').port));
  const two = await startTwoProcesses(t, relay);
  if (!two) return;
  const { service } = two;

  await t.test('a replacement that cannot start is retried; the other processes keep serving', async () => {
    const [victim = 0] = requestsByProcess(service).keys();
    relay.cut();
    process.kill(victim, 'SIGKILL');
    const complaint = /countersign: cannot use the database/;
    await until('the failure', async () => complaint.test(service.program.output()) || undefined);
    assert.equal((await getOnNewConnection(service, '/health')).status, 503, 'the other process goes on');
    await relay.restore();
    await until('a third process', async () => {
      await getOnNewConnection(service, '/health');
      return requestsByProcess(service).size === 3 || undefined;
    });
    assert.equal((await getOnNewConnection(service, '/health')).status, 200);
  });

  await t.test('all processes end when the supervisor is killed', async () => {
    service.program.kill('SIGKILL');
    assert.equal(await service.program.gone(), 'SIGKILL');
    await assert.rejects(getOnNewConnection(service, '/health'));
  });
});

test('serve refuses several processes with memory://', async () => {
  const env = environment('postgres://db/x', { WEB_CONCURRENCY: '2' });
  const { code, output } = await runCommand(['serve'], { env, cwd: tmpdir() });
  assert.equal(code, 1);
  assert.match(output, /WEB_CONCURRENCY above 1 needs a Redis that the processes share/);
});

test('exit 1 when the first processes cannot start; the supervisor does not retry', async () => {
  const nowhere = `127.0.0.1:${await freePort()}`;
  const env = environment(`postgres://${nowhere}/x`, {
    WEB_CONCURRENCY: '2',
    REDIS_URL: `redis://${nowhere}`,
  });
  const program = startCountersign(['serve'], env);
  assert.equal(await program.gone(), 1, program.output());
  const complaints = program.output().match(/countersign: cannot use the database/g) ?? [];
  assert.ok(complaints.length >= 1 && complaints.length <= 2, program.output());
});
