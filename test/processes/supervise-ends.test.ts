/** WEB_CONCURRENCY when processes end: no connection is lost, no counter decreases, no process is left. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { getOnNewConnection, requestsByProcess, startTwoProcesses } from '../support/processes.ts';
import { type Service, until } from '../support/programs.ts';

/** Sends requests that need no database on new connections until they are refused; resolves to the outcomes. */
async function requestUntilRefused(
  service: Service,
  outcomes: Map<string, number>,
): Promise<Map<string, number>> {
  const askOn = async () => {
    for (let outcome = ''; outcome !== 'ECONNREFUSED'; ) {
      outcome = await getOnNewConnection(service, '/.well-known/jwks.json').then(
        ({ status }) => String(status),
        ({ code, message }) => code ?? message,
      );
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      await sleep(20);
    }
  };
  await Promise.all(Array.from({ length: 12 }, askOn));
  return outcomes;
}

/** As a terminal or systemd does: the processes get the signal too, before the supervisor. */
const signalAll = (service: Service) => {
  for (const pid of requestsByProcess(service).keys()) process.kill(pid, 'SIGTERM');
  service.program.kill('SIGTERM');
};

for (const [target, stop] of [
  ['the supervisor', (service: Service) => service.program.kill('SIGTERM')],
  ['all processes', signalAll],
] as const) {
  test(`SIGTERM to ${target}: accepted connections are answered, others are refused`, async (t) => {
    // The kernel accepts connections before we do, and resets those in the backlog when we stop listening. That is rare;
    // a defect of ours would lose connections every time.
    let outcomes: string[] = [];
    for (let attempt = 0; attempt < 3 && outcomes.join() !== '200,ECONNREFUSED'; attempt += 1) {
      const two = await startTwoProcesses(t);
      if (!two) return;
      const { service } = two;
      const counts = new Map<string, number>();
      const asked = requestUntilRefused(service, counts);
      await until('100 answers', async () => (counts.get('200') ?? 0) >= 100 || undefined);
      stop(service);
      outcomes = [...(await asked).keys()].sort();
      assert.equal(await service.program.gone(), 0, service.program.output());
    }
    assert.deepEqual(outcomes, ['200', 'ECONNREFUSED']);
  });
}

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

const isGone = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
};

test('counters do not decrease when a process is stopped, killed or replaced; its gauges are removed', async (t) => {
  const two = await startTwoProcesses(t);
  if (!two) return;
  const { service, headers } = two;
  for (let count = 0; count < 20; count += 1) await getOnNewConnection(service, '/api/v1/agents', headers);
  const { body: before } = await getOnNewConnection(service, '/metrics');
  assert.ok(onlyUp(before).size > 50);
  const [victim = 0] = requestsByProcess(service).keys();
  process.kill(victim, 'SIGSTOP');
  t.after(() => isGone(victim) || process.kill(victim, 'SIGKILL'));
  // One connection may go to the stopped process before the supervisor notices.
  const { body: frozen } = await Promise.any([1, 2, 3].map(() => getOnNewConnection(service, '/metrics')));
  requireNoneDown(before, frozen);
  process.kill(victim, 'SIGKILL');
  const seen = /serving process exited; starting another/;
  await until('the loss is seen', async () => seen.test(service.program.output()) || undefined);
  const { body: alone } = await getOnNewConnection(service, '/metrics');
  requireNoneDown(frozen, alone);
  const memory = (exposition: string) =>
    Number(/^process_resident_memory_bytes (\S+)$/m.exec(exposition)?.[1] ?? 0);
  assert.ok(memory(alone) < memory(before) * 0.75, `${memory(before)} ${memory(alone)}`);
  await until('a third process', async () => {
    await getOnNewConnection(service, '/health');
    return requestsByProcess(service).size === 3 || undefined;
  });
  requireNoneDown(alone, (await getOnNewConnection(service, '/metrics')).body);
});

test('exit 1 when a process does not stop; the supervisor kills it', async (t) => {
  const two = await startTwoProcesses(t, undefined, {}, { shutdownTimeoutMs: 4_000 });
  if (!two) return;
  const { service } = two;
  const [victim = 0] = requestsByProcess(service).keys();
  process.kill(victim, 'SIGSTOP');
  t.after(() => isGone(victim) || process.kill(victim, 'SIGKILL'));
  service.program.kill('SIGTERM');
  assert.equal(await service.program.ended(), 1);
  await until('the stopped process has ended', async () => isGone(victim) || undefined, undefined, 10_000);
  assert.match(service.program.output(), /shutdown timed out/);
});

test('a process whose supervisor ended exits without errors', async (t) => {
  const two = await startTwoProcesses(t);
  if (!two) return;
  const { service } = two;
  for (const pid of requestsByProcess(service).keys()) {
    process.kill(pid, 'SIGSTOP');
    t.after(() => isGone(pid) || process.kill(pid, 'SIGKILL'));
    // Handled after SIGCONT, when the supervisor has ended,
    process.kill(pid, 'SIGTERM');
  }
  // like these connections, which it must still answer.
  const handedOver = [1, 2, 3].map(() => getOnNewConnection(service, '/health').catch(() => {}));
  await sleep(1_000);
  service.program.kill('SIGKILL');
  await service.program.ended();
  for (const pid of requestsByProcess(service).keys()) process.kill(pid, 'SIGCONT');
  await service.program.gone();
  await Promise.all(handedOver);
  assert.doesNotMatch(service.program.output(), /EPIPE|Unhandled/);
});
