/** While no process links audit events, /health reports the delay. It reports ok once they are linked again. */
import { test } from 'node:test';
import { createDatabase, environment } from '../support/harness.ts';
import { askToken, makeOperator, startCountersign, startServe, until } from '../support/programs.ts';

test('200 with audit.status delayed while the worker is dead, and ok again once it runs', async () => {
  const env = environment(await createDatabase(), { LOG_LEVEL: 'info' });
  const operator = await makeOperator(env);
  const { url, program } = await startServe(env, ['--no-worker']);
  const health = async () => {
    const response = await fetch(`${url}/health`);
    // A slow database makes /health answer 503 for a moment.
    if (response.status !== 200) throw new Error(`/health: ${response.status} ${await response.text()}`);
    const { audit } = (await response.json()) as {
      audit: { status: string; oldestUnlinkedSeconds: number };
    };
    return audit;
  };
  /** Creates an event when none is unlinked. A busy machine may refuse the token; the next round retries. */
  const statusIs = (wanted: string) =>
    until(
      `audit.status ${wanted}`,
      async () => {
        const { status, oldestUnlinkedSeconds } = await health();
        if (status === wanted) return true;
        if (oldestUnlinkedSeconds === 0) await (await askToken(url, operator)).arrayBuffer();
        return undefined;
      },
      program,
    );
  await statusIs('delayed');
  // The serving process links every 15 seconds too, so the gauge may be 0 in between.
  await until(
    'the metric',
    async () => {
      const text = await (await fetch(`${url}/metrics`)).text();
      if (/^service_audit_linking_delayed 1$/m.test(text)) return true;
      await statusIs('delayed');
      return undefined;
    },
    program,
  );
  await until(
    'the log line',
    async () => /"level":50.*audit events are not linked in time/.test(program.output()) || undefined,
    program,
  );

  const worker = startCountersign(['worker'], env);
  await until(
    'the worker',
    async () => worker.output().includes('the background loops are running') || undefined,
    worker,
  );
  await statusIs('ok');
});
