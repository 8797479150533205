/** The warning of `serve` at start where plans are free of charge. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { environment } from '../../../test/support/harness.ts';
import { freePort, startCountersign } from '../../../test/support/programs.ts';
import { warnOfFreePlans } from '../../commands/serve.ts';
import { loadConfig } from '../../kernel/config/config.ts';
import { createLog } from '../../kernel/observability/log.ts';

const unreachable = `postgres://app@127.0.0.1:${await freePort()}/countersign`;
const countIn = (text: string) =>
  text.match(/organizations can choose any plan without paying/g)?.length ?? 0;

describe('serve without Stripe', () => {
  // The warning is logged before the first connection, so the process may fail after it.
  it('warns once for several processes', async () => {
    const settings = { LOG_LEVEL: 'warn', WEB_CONCURRENCY: '2', REDIS_URL: 'redis://127.0.0.1:1' };
    const program = startCountersign(['serve'], environment(unreachable, settings));
    assert.equal(await program.gone(), 1);
    assert.match(program.output(), /cannot use the database/);
    assert.equal(countIn(program.output()), 1);
  });

  for (const [what, changes, warnings] of [
    ['once where NODE_ENV is not production', {}, 1],
    ['not with NODE_ENV=production, where nothing can be ordered', { NODE_ENV: 'production' }, 0],
    ['not with MULTI_TENANT=true, where nothing can be ordered', { MULTI_TENANT: 'true' }, 0],
    ['not where the operator has allowed it', { BILLING_ALLOW_EMBEDDED: 'true' }, 0],
  ] as [string, Record<string, string>, number][])
    it(`warns ${what}`, () => {
      const lines: string[] = [];
      const log = createLog({ level: 'warn', destination: { write: (line) => void lines.push(line) } });
      warnOfFreePlans(loadConfig(environment(unreachable, changes)), log);
      assert.equal(countIn(lines.join('')), warnings);
    });
});
