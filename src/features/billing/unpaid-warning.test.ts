/** The warning of `serve` at start where plans are free of charge, in a separate process. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { environment } from '../../../test/support/harness.ts';
import { freePort, startCountersign } from '../../../test/support/programs.ts';

/** The warning is logged before the first connection, so the process may fail after it. */
const warningsOf = async (changes: Record<string, string>): Promise<number> => {
  const unreachable = `postgres://app@127.0.0.1:${await freePort()}/countersign`;
  const program = startCountersign(['serve'], environment(unreachable, { LOG_LEVEL: 'warn', ...changes }));
  assert.equal(await program.gone(), 1);
  assert.match(program.output(), /cannot use the database/);
  return program.output().match(/organizations can choose any plan without paying/g)?.length ?? 0;
};

describe('serve without Stripe', () => {
  for (const [what, changes, warnings] of [
    ['once where NODE_ENV is not production', {}, 1],
    ['once for several processes', { WEB_CONCURRENCY: '2', REDIS_URL: 'redis://127.0.0.1:1' }, 1],
    ['not with NODE_ENV=production, where nothing can be ordered', { NODE_ENV: 'production' }, 0],
    ['not with MULTI_TENANT=true, where nothing can be ordered', { MULTI_TENANT: 'true' }, 0],
    ['not where the operator has allowed it', { BILLING_ALLOW_EMBEDDED: 'true' }, 0],
  ] as [string, Record<string, string>, number][])
    it(`warns ${what}`, async () => assert.equal(await warningsOf(changes), warnings));
});
