/** WEB_CONCURRENCY: more ways in which processes end; supervise.test.ts has the first. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  assertEndsUnderLoad,
  getOnNewConnection,
  isGone,
  requestsByProcess,
  startTwoProcesses,
} from '../support/processes.ts';
import { type Service, until } from '../support/programs.ts';

/** As a terminal or systemd does: the processes get the signal too, before the supervisor. */
const signalAll = (service: Service) => {
  for (const pid of requestsByProcess(service).keys()) process.kill(pid, 'SIGTERM');
  service.program.kill('SIGTERM');
};

test('SIGTERM to all processes: accepted connections are answered, others are refused', async (t) => {
  const two = await startTwoProcesses(t);
  if (two) await assertEndsUnderLoad(t, two.service, signalAll);
});

test('SIGINT to all processes ends all with exit code 0', async (t) => {
  const two = await startTwoProcesses(t);
  if (!two) return;
  const { service } = two;
  for (const pid of [...requestsByProcess(service).keys()]) process.kill(pid, 'SIGINT');
  service.program.kill('SIGINT');
  assert.equal(await service.program.gone(), 0, service.program.output());
});

test('SHUTDOWN_DELAY_SECONDS: both processes serve and are not ready, then all end', async (t) => {
  const two = await startTwoProcesses(t, undefined, { SHUTDOWN_DELAY_SECONDS: '4' });
  if (!two) return;
  const { service } = two;
  service.program.kill('SIGTERM');
  const statuses = async (path: string) => {
    const answers = await Promise.all([1, 2, 3, 4].map(() => getOnNewConnection(service, path)));
    return [...new Set(answers.map(({ status }) => status))];
  };
  await until('neither is ready', async () => (await statuses('/readyz')).join() === '503' || undefined);
  assert.deepEqual(await statuses('/health'), [200]);
  assert.equal(await service.program.gone(), 0, service.program.output());
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
