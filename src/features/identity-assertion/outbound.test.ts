/** What an assertion makes us fetch: documents of clients, and keys of providers. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createAssertionScenario } from '../../../test/support/scenarios/identity-assertions.ts';
import { lockExclusive } from '../../kernel/data/locks.ts';

const perMinute = 30;
const scenario = await createAssertionScenario({ RATE_LIMIT_PER_MINUTE: String(perMinute) });
const { t, provider, client, documents, documentClient, present, sign } = scenario;

it('429 RATE_LIMIT_EXCEEDED before a document is fetched, also for assertions with a valid signature', async () => {
  let fetched = 0;
  const read = documents.get.bind(documents);
  documents.get = (path) => {
    fetched += 1;
    return read(path);
  };
  const statuses: number[] = [];
  // A window may end in between.
  while (statuses.at(-1) !== 429 && statuses.length < 3 * perMinute) {
    // A document with a secret is refused, and a failure is not cached.
    const unusable = documentClient({ client_secret: 'x' });
    const { status } = await present(await sign({ client_id: unusable.clientId }), {}, unusable);
    statuses.push(status);
  }
  assert.ok(statuses.length > perMinute);
  assert.equal(statuses.at(-1), 429);
  assert.equal(fetched, statuses.filter((status) => status !== 429).length);
  assert.ok(fetched > 0);
  t.clock.advance(60_000);
  const usable = documentClient();
  assert.equal((await present(await sign({ client_id: usable.clientId }), {}, usable)).status, 200);
});

it('200 without a request to the provider from within the transaction: tokens of others may wait for it', async () => {
  provider.cacheControl = 'max-age=60';
  t.clock.advance(3_600_000);
  const exp = Math.floor(t.clock.now() / 1_000) + 300;
  const assertion = await sign({ exp });
  assert.equal((await present(assertion)).status, 200);
  const before = provider.requestCounts['/jwks'];
  const presenting = await t.app.db.transaction(async (tx) => {
    await lockExclusive(tx, 'agent', [client.agentId]);
    const answer = present(assertion);
    const waiting =
      "select 1 from pg_stat_activity where datname = current_database() and wait_event = 'advisory'";
    for (let tries = 0; (await t.sql(waiting)).length === 0; tries += 1) {
      assert.ok(tries < 200, 'the request does not wait for its agent');
      await pause(50);
    }
    // The keys were fresh when the request came.
    t.clock.advance(61_000);
    return { answer };
  });
  assert.equal((await presenting.answer).status, 200);
  assert.equal(provider.requestCounts['/jwks'], before);
});
