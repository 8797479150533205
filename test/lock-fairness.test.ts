/** Fair locks: a request that revokes or suspends is not starved by requests that hold the lock shared. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { lockExclusive } from '../src/kernel/data/locks.ts';
import { type Answer, keepOpen, startApp } from './support/harness.ts';
import { until } from './support/programs.ts';
import { createDelegationClient } from './support/scenarios/delegations.ts';
import { createTrustClient } from './support/scenarios/trust.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true', RATE_LIMIT_PER_MINUTE: '1000000' });
const { operator, createPolicy, exchange } = await createTrustClient(t);
const { createDelegation, exchange: redeem, revoke } = createDelegationClient(t);
const aliceToken = await t.token(undefined, await t.agent());

type Call = () => Promise<Answer>;

const suspend = (agentId: string) =>
  t.call('PATCH', `/api/v1/agents/${agentId}`, { token: operator, payload: { status: 'suspended' } });

const workload = async () => {
  const policy = await createPolicy({ singleUse: false });
  const token = await policy.sign();
  return { policy, ask: () => exchange(token, { client_id: policy.agentId }) };
};
const delegatee = async () => {
  const bob = await t.agent();
  const lent = await createDelegation(aliceToken, bob, ['agents:read']);
  return { bob, lent, ask: () => redeem(bob, lent.delegationToken) };
};

/** The request that clients repeat, and the request that ends its success. */
const cases: [string, () => Promise<{ ask: Call; end: Call }>][] = [
  [
    'deletes a trust policy',
    async () => {
      const { policy, ask } = await workload();
      const url = `/api/v1/oidc/trust-policies/${policy.policyId}`;
      return { ask, end: () => t.call('DELETE', url, { token: operator }) };
    },
  ],
  [
    'suspends an agent that authenticates by a trust policy',
    async () => {
      const { policy, ask } = await workload();
      return { ask, end: () => suspend(policy.agentId) };
    },
  ],
  [
    'revokes a delegation',
    async () => {
      const { lent, ask } = await delegatee();
      return { ask, end: () => revoke(aliceToken, lent.chainId) };
    },
  ],
  [
    'suspends an agent that redeems a delegation',
    async () => {
      const { bob, ask } = await delegatee();
      return { ask, end: () => suspend(bob.agentId) };
    },
  ],
];

describe('while 30 clients request tokens without a pause, the operator', () => {
  for (const [what, make] of cases) {
    it(`${what} within seconds, and the clients get 4xx afterwards`, async () => {
      const { ask, end } = await make();
      let ended = false;
      const asking = Array.from({ length: 30 }, async () => {
        for (let after = false; !after; ) {
          after = ended;
          const { status } = await ask();
          assert.ok(after ? status >= 400 && status < 500 : status < 500, `${status}, ended: ${after}`);
        }
      });
      await sleep(300);
      const started = performance.now();
      const { status, text } = await end();
      const took = performance.now() - started;
      ended = true;
      await Promise.all(asking);
      assert.ok(status === 200 || status === 204, text);
      assert.ok(took < 19_000, `took ${took} ms`);
    });
  }
});

describe('redeeming a delegation', () => {
  it('locks its agents in one order, and holds no lock while it waits for the first', async () => {
    const two = [await t.agent(), await t.agent()];
    const [first, second] = two.toSorted((one, other) => (one.agentId < other.agentId ? -1 : 1));
    assert.ok(first && second);
    const lent = await createDelegation(await t.token(undefined, first), second, ['agents:read']);
    const release = await keepOpen(t, (tx) => lockExclusive(tx, 'agent', [first.agentId]));
    const redeeming = redeem(second, lent.delegationToken);
    await until('it waits', async () => {
      const waiting = await t.sql(
        `select from pg_locks join pg_database d on d.oid = database
         where locktype = 'advisory' and not granted and datname = current_database()`,
      );
      return waiting.length > 0 || undefined;
    });
    const [held] = await t.sql('select pg_try_advisory_xact_lock(2, hashtext($1)) as free', [second.agentId]);
    await release();
    assert.deepEqual([held, (await redeeming).status], [{ free: true }, 200]);
  });
});
