/** The warning of `serve` and `worker` at start where /metrics answers without a token, in a separate process. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { environment } from '../../../test/support/harness.ts';
import { freePort, startCountersign } from '../../../test/support/programs.ts';

type Command = 'serve' | 'worker';

/** The warning is logged before the first connection, so the process may fail after it. */
const warningsOf = async (command: Command, changes: Record<string, string>): Promise<number> => {
  const unreachable = `postgres://app@127.0.0.1:${await freePort()}/countersign`;
  const program = startCountersign([command], environment(unreachable, { LOG_LEVEL: 'warn', ...changes }));
  assert.equal(await program.gone(), 1);
  assert.match(program.output(), /cannot use the database/);
  return program.output().match(/\/metrics answers anyone that reaches it/g)?.length ?? 0;
};

const production = { NODE_ENV: 'production' };
const workerPort = String(await freePort());

describe('/metrics without METRICS_TOKEN', () => {
  const cases: [what: string, command: Command, changes: Record<string, string>, warnings: number][] = [
    ['once in production', 'serve', production, 1],
    [
      'once for several processes',
      'serve',
      { ...production, WEB_CONCURRENCY: '2', REDIS_URL: 'redis://127.0.0.1:1' },
      1,
    ],
    ['not in development', 'serve', {}, 0],
    ['not with a token', 'serve', { ...production, METRICS_TOKEN: 'secret' }, 0],
    ['once for a worker with a port', 'worker', { ...production, WORKER_PORT: workerPort }, 1],
    ['not for a worker without a port', 'worker', { ...production, WORKER_PORT: '0' }, 0],
  ];
  for (const [what, command, changes, warnings] of cases)
    it(`warns ${what}`, async () => assert.equal(await warningsOf(command, changes), warnings));
});
