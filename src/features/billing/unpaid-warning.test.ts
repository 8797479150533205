/** What `serve` says at its start where plans cost nothing, as a process of its own. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { environment } from '../../../test/support/harness.ts';
import { freePort, startCountersign } from '../../../test/support/programs.ts';

/** Said before anything is connected to, so it need not get further than that. */
const warningsOf = async (changes: Record<string, string>): Promise<number> => {
  const away = `postgres://app@127.0.0.1:${await freePort()}/countersign`;
  const program = startCountersign(['serve'], environment(away, { LOG_LEVEL: 'warn', ...changes }));
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
    ['not where it is meant to be so', { BILLING_ALLOW_EMBEDDED: 'true' }, 0],
  ] as [string, Record<string, string>, number][])
    it(`warns ${what}`, async () => assert.equal(await warningsOf(changes), warnings));
});
