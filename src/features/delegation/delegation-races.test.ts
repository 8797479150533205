/** Issuing and ending at the same moment, on real PostgreSQL: one comes first. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Answer, startApp } from '../../../test/support/harness.ts';
import { type Client, createDelegationClient } from '../../../test/support/scenarios/delegations.ts';

const t = await startApp({ DATABASE_POOL_SIZE: '20' });
const { delegate, exchange, createDelegation, redeem, revoke, listAgents } = createDelegationClient(t);
const operator = await t.token();
const [alice, bob, carol] = [await t.agent(), await t.agent(), await t.agent()];
const aliceToken = await t.token(undefined, alice);
const atOnce = <T>(count: number, act: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => act(index)));
const tally = (answers: Answer[]) =>
  Object.entries(Object.groupBy(answers, ({ status }) => status)).map(
    ([status, group]) => `${status}×${group?.length}`,
  );
const lendOn = (token: string, to: Client) =>
  createDelegation(token, to, ['agents:read'], { allowRedelegation: true });

describe('races of delegations', () => {
  it('50 revocations at once: 204 each, one event', async () => {
    const { chainId } = await lendOn(aliceToken, bob);
    assert.deepEqual(tally(await atOnce(50, () => revoke(aliceToken, chainId))), ['204×50']);
    const events = await t.sql(
      `select 1 from audit_events where action = 'delegation.revoked' and metadata->>'chainId' = $1`,
      [chainId],
    );
    assert.equal(events.length, 1);
  });

  it('50 redemptions at once: 200 each, and as many tokens', async () => {
    const { delegationToken } = await lendOn(aliceToken, bob);
    const answers = await atOnce(50, () => exchange(bob, delegationToken));
    assert.deepEqual(tally(answers), ['200×50']);
    assert.equal(new Set(answers.map(({ json }) => json.access_token)).size, 50);
  });

  it('50 redemptions, passings-on and revocations of link and root at once: once the 204 has come nothing is issued, added or alive', async () => {
    for (let round = 0; round < 10; round += 1) {
      const root = await lendOn(aliceToken, bob);
      const bobs = await redeem(bob, root);
      const link = await lendOn(bobs, carol);
      const carols = await redeem(carol, link);
      const late: string[] = [];
      const children: string[] = [];
      const tokens: string[] = [];
      let gone = false;
      const attempt = async (index: number) => {
        const startedAfter = gone;
        if (index % 2) {
          const { status, json } = await exchange(carol, link.delegationToken);
          if (status === 200) tokens.push(json.access_token);
          if (status === 200 && startedAfter) late.push('token');
          assert.ok([200, 400].includes(status));
        } else {
          const payload = { delegateeId: alice.agentId, scopes: ['agents:read'] };
          const { status, json, text } = await delegate(carols, payload);
          if (status === 201) children.push(json.chainId);
          if (status === 201 && startedAfter) late.push('link');
          assert.ok(status === 201 || json.code === 'DELEGATION_REVOKED', text);
        }
      };
      const before = atOnce(24, attempt);
      const revoked = await revoke(aliceToken, round % 2 ? root.chainId : link.chainId);
      gone = true;
      const after = atOnce(24, attempt);
      await Promise.all([before, after]);
      assert.equal(revoked.status, 204);
      assert.deepEqual(late, []);
      const alive = await t.sql(
        'select chain_id from delegations where chain_id = any($1) and revoked_at is null',
        [children],
      );
      assert.deepEqual(alive, [], 'no link survives the one it hangs on');
      for (const token of [carols, ...tokens])
        assert.equal(await listAgents(token), '403 DELEGATION_REVOKED');
    }
  });

  it('50 delegations to and from an agent that is being suspended: none survives it', async () => {
    for (let round = 0; round < 10; round += 1) {
      const dave = await t.agent();
      const daves = await t.token(undefined, dave);
      const made: string[] = [];
      const attempts = atOnce(24, async (index) => {
        const answer =
          index % 2
            ? await delegate(daves, { delegateeId: bob.agentId, scopes: ['agents:read'] })
            : await delegate(aliceToken, { delegateeId: dave.agentId, scopes: ['agents:read'] });
        if (answer.status === 201) made.push(answer.json.chainId);
        assert.ok([201, 401, 403].includes(answer.status), answer.text);
      });
      const path = `/api/v1/agents/${dave.agentId}`;
      const suspended = await t.call('PATCH', path, { token: operator, payload: { status: 'suspended' } });
      assert.equal(suspended.status, 200);
      await attempts;
      const alive = await t.sql(
        'select chain_id from delegations where chain_id = any($1) and revoked_at is null',
        [made],
      );
      assert.deepEqual(alive, []);
    }
  });

  it('suspension and redemption at once: what was issued is over, also after the reactivation', async () => {
    for (let round = 0; round < 10; round += 1) {
      const [dave, eve] = [await t.agent(), await t.agent()];
      const { delegationToken } = await lendOn(await t.token(undefined, dave), eve);
      const tokens: string[] = [];
      const attempts = atOnce(10, async () => {
        const { status, json } = await exchange(eve, delegationToken);
        if (status === 200) tokens.push(json.access_token);
      });
      const patch = (status: string) =>
        t.call('PATCH', `/api/v1/agents/${dave.agentId}`, { token: operator, payload: { status } });
      assert.equal((await patch('suspended')).status, 200);
      await attempts;
      for (const token of tokens) assert.equal(await listAgents(token), '403 DELEGATION_REVOKED');
      assert.equal((await patch('active')).status, 200);
      for (const token of tokens) assert.equal(await listAgents(token), '403 DELEGATION_REVOKED');
      assert.equal((await exchange(eve, delegationToken)).json.error, 'invalid_grant');
    }
  });
});
