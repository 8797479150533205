/** Delegations that a workload makes by a token of a trust policy: they end with the token and with the policy. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { type Answer, keepOpen, startApp } from '../../../test/support/harness.ts';
import { until } from '../../../test/support/programs.ts';
import {
  createDelegationClient,
  type IssuedDelegation,
  jwtType,
  tokenExchange,
} from '../../../test/support/scenarios/delegations.ts';
import { outcome } from '../../../test/support/scenarios/resources/resources.ts';
import { createTrustClient } from '../../../test/support/scenarios/trust.ts';
import { lockExclusive } from '../../kernel/data/locks.ts';
import { sql } from '../../kernel/data/sql.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true', RATE_LIMIT_PER_MINUTE: '100000' });
const { operator, createPolicy, exchange, patch } = await createTrustClient(t);
const { delegate, createDelegation, redeem, listAgents, exchange: redeemAs } = createDelegationClient(t);
const scopes = ['agents:read', 'agents:write', 'audit:read'];
const lent = ['agents:read', 'agents:write'];
const bob = await t.agent({ allowedScopes: [] });
const carol = await t.agent({ allowedScopes: [] });

const outcomeOf = async (call: Promise<Answer>): Promise<string> => outcome(await call);

/** An agent with a policy, and a token by it. */
const newWorkload = async () => {
  const agent = await t.agent({ allowedScopes: scopes });
  const policy = await createPolicy({ agentId: agent.agentId, scopes });
  const { status, json, text } = await exchange(await policy.sign());
  assert.equal(status, 200, text);
  return { ...agent, policy, policyId: policy.policyId as string, token: json.access_token as string };
};
type Workload = Awaited<ReturnType<typeof newWorkload>>;

const deletePolicy = ({ policyId }: Workload, token = operator) =>
  t.call('DELETE', `/api/v1/oidc/trust-policies/${policyId}`, { token });

const ends: Readonly<Record<string, (workload: Workload) => ReturnType<typeof t.call>>> = {
  disabled: ({ policyId }) => patch(policyId, { status: 'disabled' }),
  deleted: (workload) => deletePolicy(workload),
  'narrowed below the lent scopes': ({ policyId }) => patch(policyId, { scopes: ['agents:read'] }),
};

describe('expiresAt of a delegation', () => {
  const create = async (token: string, expiresIn: number) => {
    const { status, json, text } = await delegate(token, {
      delegateeId: bob.agentId,
      scopes: lent,
      expiresIn,
    });
    assert.equal(status, 201, text);
    const end = Date.parse(json.expiresAt);
    return { end, seconds: (end - Date.parse(json.createdAt)) / 1000 };
  };

  it('is that of the token at the latest, by a token of a trust policy', async () => {
    const { token } = await newWorkload();
    const { exp = 0 } = decodeJwt(token);
    t.clock.advance(60_000);
    assert.equal((await create(token, 86_400)).end, exp * 1000);
    assert.equal((await create(token, 60)).seconds, 60);
  });

  it('is as requested, by a secret of the same agent', async () => {
    const token = await t.token(undefined, await newWorkload());
    assert.equal((await create(token, 86_400)).seconds, 86_400);
  });
});

describe('a delegation by a token of a trust policy', () => {
  const revocationsOf = ({ chainId }: IssuedDelegation) =>
    t.sql<{ policyId: string }>(
      `select metadata ->> 'policyId' as "policyId" from audit_events
       where action = 'delegation.revoked' and metadata ->> 'chainId' = $1`,
      [chainId],
    );

  for (const [what, end] of Object.entries(ends))
    it(`403 DELEGATION_REVOKED at once when the policy is ${what}, also below it`, async () => {
      const workload = await newWorkload();
      const first = await createDelegation(workload.token, bob, lent, { allowRedelegation: true });
      const token = await redeem(bob, first);
      const second = await createDelegation(token, carol, ['agents:read']);
      const below = await redeem(carol, second);
      const bySecret = await createDelegation(await t.token(undefined, workload), bob, lent);
      const other = await redeem(bob, bySecret);
      for (const live of [token, below, other]) assert.equal(await listAgents(live), '200');
      const { status, text } = await end(workload);
      assert.ok(status < 300, text);
      for (const ended of [token, below])
        assert.equal(await listAgents(ended), '403 DELEGATION_REVOKED', what);
      for (const [client, delegation] of [[bob, first] as const, [carol, second] as const]) {
        const refused = await redeemAs(client, delegation.delegationToken);
        assert.equal(refused.json.error, 'invalid_grant');
      }
      assert.deepEqual(await revocationsOf(first), [{ policyId: workload.policyId }]);
      assert.equal(await listAgents(other), '200', 'by a secret');
      if (what === 'deleted') return;
      await patch(workload.policyId, { status: 'active', scopes });
      assert.equal(await listAgents(token), '403 DELEGATION_REVOKED', 'the end is final');
    });

  it('200 after changes of the policy that leave the lent scopes', async () => {
    const workload = await newWorkload();
    const token = await redeem(bob, await createDelegation(workload.token, bob, lent));
    for (const change of [{ name: 'Renamed' }, { scopes: lent }, { singleUse: false }, { scopes }]) {
      assert.equal((await patch(workload.policyId, change)).status, 200);
      assert.equal(await listAgents(token), '200', JSON.stringify(change));
    }
  });

  it('403 when the token is older than the end of its policy', async () => {
    const expected: Record<string, string> = {
      disabled: '403 FORBIDDEN',
      deleted: '403 FORBIDDEN',
      'narrowed below the lent scopes': '403 DELEGATION_SCOPE_EXCEEDED',
    };
    for (const [what, end] of Object.entries(ends)) {
      const workload = await newWorkload();
      await end(workload);
      const created = delegate(workload.token, { delegateeId: bob.agentId, scopes: lent });
      assert.equal(await outcomeOf(created), expected[what], what);
    }
  });

  it('403 FORBIDDEN when the policy is disabled while the request waits', async () => {
    const { agentId, policyId, token } = await newWorkload();
    const release = await keepOpen(t, async (tx) => {
      await lockExclusive(tx, 'agent', [agentId]);
      await tx.run(
        'test.disable',
        sql`update trust_policies set status = 'disabled' where policy_id = ${policyId}`,
      );
    });
    const created = delegate(token, { delegateeId: bob.agentId, scopes: lent });
    const waits = () =>
      t.sql(`select 1 from pg_locks where locktype = 'advisory' and not granted
             and database = (select oid from pg_database where datname = current_database())`);
    await until('the request waits', async () => (await waits()).length > 0 || undefined);
    await release();
    assert.equal(await outcomeOf(created), '403 FORBIDDEN');
  });

  it("403 FORBIDDEN for the delegatee that changes, disables or deletes a policy of the delegator's agent", async () => {
    const workload = await newWorkload();
    const { policyId } = workload;
    const redeemed = async (by: string) => redeem(bob, await createDelegation(by, bob, lent));
    const [token, bySecret] = [
      await redeemed(workload.token),
      await redeemed(await t.token(undefined, workload)),
    ];
    const change = (by: string, payload: object) =>
      outcomeOf(t.call('PATCH', `/api/v1/oidc/trust-policies/${policyId}`, { token: by, payload }));
    for (const payload of [{ name: 'Mine' }, { status: 'disabled' }])
      assert.equal(await change(token, payload), '403 FORBIDDEN');
    assert.equal(await outcomeOf(deletePolicy(workload, token)), '403 FORBIDDEN');
    assert.equal(await change(bySecret, { status: 'disabled' }), '200');
    assert.equal(await outcomeOf(deletePolicy(workload, bySecret)), '204');
  });
});

describe('a delegation that a workload passes on', () => {
  /** A workload without scopes of its own, which holds a chain of another subject. */
  const passOn = async () => {
    const alice = await t.agent({ allowedScopes: scopes });
    const agent = await t.agent({ allowedScopes: [] });
    const policy = await createPolicy({ agentId: agent.agentId, scopes: [] });
    const held = await createDelegation(await t.token(undefined, alice), agent, lent, {
      allowRedelegation: true,
      expiresIn: 86_400,
    });
    const redeemed = await t.askToken({
      grant_type: tokenExchange,
      client_id: agent.agentId,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await policy.sign(),
      subject_token: held.delegationToken,
      subject_token_type: jwtType,
    });
    assert.equal(redeemed.status, 200, redeemed.text);
    const workloadToken: string = redeemed.json.access_token;
    const passed = await createDelegation(workloadToken, bob, lent, { expiresIn: 86_400 });
    return { policyId: policy.policyId as string, workloadToken, passed, token: await redeem(bob, passed) };
  };

  it('ends with the token and with the policy; the scopes of the policy do not limit it', async () => {
    const { policyId, workloadToken, passed, token } = await passOn();
    assert.equal(Date.parse(passed.expiresAt), (decodeJwt(workloadToken).exp ?? 0) * 1000);
    assert.equal((await patch(policyId, { name: 'Renamed' })).status, 200);
    assert.equal(await listAgents(token), '200');
    assert.equal((await patch(policyId, { status: 'disabled' })).status, 200);
    assert.equal(await listAgents(token), '403 DELEGATION_REVOKED');
    assert.equal(await listAgents(workloadToken), '200', 'the link above goes on');
  });

  it("403 FORBIDDEN for the delegatee that ends a policy of the workload's agent", async () => {
    const { policyId, token } = await passOn();
    const path = `/api/v1/oidc/trust-policies/${policyId}`;
    assert.equal(await outcomeOf(t.call('DELETE', path, { token })), '403 FORBIDDEN');
  });
});
