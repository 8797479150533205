import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';

const t = await startApp();

/** As if a node whose clock is so much ahead, or behind, did it. */
async function byAnotherClock(aheadMs: number, work: () => Promise<unknown>): Promise<void> {
  t.clock.advance(aheadMs);
  await work();
  t.clock.advance(-aheadMs);
}

const agent = await t.agent();
const bounce = async ({ agentId } = agent) => {
  for (const status of ['suspended', 'active']) {
    const path = `/api/v1/agents/${agentId}`;
    const answer = await t.call('PATCH', path, { token: await t.token(), payload: { status } });
    assert.equal(answer.status, 200);
  }
};
const statusOf = async (token: string) => (await t.call('GET', '/api/v1/agents', { token })).status;

describe('clocks of nodes that differ', () => {
  it('by one that is behind, a suspension still ends the tokens from before it', async () => {
    const token = await t.token(undefined, agent);
    assert.equal(await statusOf(token), 200);
    await byAnotherClock(-5_000, () => bounce());
    assert.equal(await statusOf(token), 401);
  });

  it('by one that is ahead, tokens from after it are good at once, and those from before it over', async () => {
    const before = await t.token(undefined, agent);
    await byAnotherClock(20_000, () => bounce());
    const token = await t.token(undefined, agent);
    assert.deepEqual([await statusOf(token), await statusOf(before)], [200, 401]);
    // One more, by a clock that is right: nothing it ended comes back.
    await bounce();
    assert.deepEqual([await statusOf(token), await statusOf(before)], [401, 401]);
    assert.equal(await statusOf(await t.token(undefined, agent)), 200);
  });

  it('by one that is ahead, what another delegates after it is good at once', async () => {
    const lender = await t.agent();
    await byAnotherClock(20_000, () => bounce(lender));
    const { json } = await t.call('POST', '/api/v1/delegations', {
      token: await t.token(undefined, lender),
      payload: { delegateeId: agent.agentId, scopes: ['agents:read'] },
    });
    const redeemed = await t.askToken({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: json.delegationToken,
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      client_id: agent.clientId,
      client_secret: agent.clientSecret,
    });
    assert.equal(await statusOf(redeemed.json.access_token), 200);
  });
});
