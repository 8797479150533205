/** The warning of `serve` and `worker` at start where /metrics answers without a token. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { environment } from '../../../test/support/harness.ts';
import { freePort, startCountersign } from '../../../test/support/programs.ts';
import { warnOfOpenMetrics } from '../../commands/serve.ts';
import { loadConfig } from '../../kernel/config/config.ts';
import { createLog } from '../../kernel/observability/log.ts';

const unreachable = `postgres://app@127.0.0.1:${await freePort()}/countersign`;
const countIn = (text: string) => text.match(/\/metrics answers anyone that reaches it/g)?.length ?? 0;

const production = { NODE_ENV: 'production' };
const several = { WEB_CONCURRENCY: '2', REDIS_URL: 'redis://127.0.0.1:1' };
const workerPort = String(await freePort());

describe('/metrics without METRICS_TOKEN', () => {
  // The warning is logged before the first connection, so the process may fail after it.
  for (const [what, command, changes, warnings] of [
    ['once for several processes', 'serve', several, 1],
    ['once for a worker with a port', 'worker', { WORKER_PORT: workerPort }, 1],
    ['not for a worker without a port', 'worker', { WORKER_PORT: '0' }, 0],
  ] as [string, string, Record<string, string>, number][])
    it(`warns ${what}`, async () => {
      const env = environment(unreachable, { LOG_LEVEL: 'warn', ...production, ...changes });
      const program = startCountersign([command], env);
      assert.equal(await program.gone(), 1);
      assert.match(program.output(), /cannot use the database/);
      assert.equal(countIn(program.output()), warnings);
    });

  for (const [what, changes, warnings] of [
    ['once in production', production, 1],
    ['not in development', {}, 0],
    ['not with a token', { ...production, METRICS_TOKEN: 'secret' }, 0],
  ] as [string, Record<string, string>, number][])
    it(`warns ${what}`, () => {
      const lines: string[] = [];
      const log = createLog({ level: 'warn', destination: { write: (line) => void lines.push(line) } });
      warnOfOpenMetrics(loadConfig(environment(unreachable, changes)), log);
      assert.equal(countIn(lines.join('')), warnings);
    });
});
