import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { startApp } from '../../../../test/support/harness.ts';
import { startIssuer } from '../../../../test/support/peers/issuers.ts';
import { createTrustClient } from '../../../../test/support/scenarios/trust.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
const { operator, createPolicy, exchange, seconds, refused, lastRefusal, patch } = await createTrustClient(t);
const nilUuid = '00000000-0000-0000-0000-000000000000';

/** An agent in a new organization. */
const tenant = async () => {
  const payload = { name: 'Tenant', slug: `tenant-${randomUUID().slice(0, 18)}` };
  const { organizationId } = (await t.call('POST', '/api/v1/organizations', { token: operator, payload }))
    .json;
  const { agentId } = await t.agent({ organization_id: organizationId, allowedScopes: [] });
  return { organizationId, agentId, policy: { agentId, scopes: [] } };
};
const refusalsOf = (organizationId: string) =>
  t.sql<{ agent_id: string; reason: string; policy: string }>(
    `select agent_id, metadata ->> 'reason' as reason, metadata ->> 'policyId' as policy from audit_events
     where action = 'token.refused' and organization_id = $1 order by event_id`,
    [organizationId],
  );
const never = { claim: 'never', operator: 'equals', values: ['x'] };

describe('without client_id, with policies of another organization', () => {
  it('200 although those name five other key sets for the same subject', async () => {
    const issuer = await startIssuer(t.clock);
    const [victim, mallory] = [await tenant(), await tenant()];
    const subject = 'project:victim:main';
    for (let count = 1; count <= 5; count += 1)
      await createPolicy({ ...mallory.policy, subject, jwksUri: `${issuer.url}/${count}` }, issuer);
    const policy = await createPolicy({ ...victim.policy, subject }, issuer);
    const { status, text } = await exchange(await policy.sign());
    assert.equal(status, 200, text);
    assert.deepEqual(await refusalsOf(mallory.organizationId), []);
  });
  it('200 although 101 of those never match', async () => {
    const issuer = await startIssuer(t.clock);
    const [victim, mallory] = [await tenant(), await tenant()];
    const rest = { ...mallory.policy, subject: 'project:v*' };
    for (let count = 0; count <= 100; count += 1) {
      const conditions = [{ ...never, values: [`${count}`] }];
      await createPolicy({ ...rest, conditions }, issuer);
    }
    const policy = await createPolicy({ ...victim.policy, subject: 'project:victim:main' }, issuer);
    const { status, text } = await exchange(await policy.sign());
    assert.equal(status, 200, text);
  });
  it('200 although those match with more key sets than are ever fetched', async () => {
    const issuer = await startIssuer(t.clock);
    const [victim, mallory] = [await tenant(), await tenant()];
    const subject = 'project:victim:main';
    for (let count = 1; count <= 30; count += 1)
      await createPolicy({ ...mallory.policy, subject, jwksUri: `${issuer.url}/${count}` }, issuer);
    const policy = await createPolicy({ ...victim.policy, subject }, issuer);
    assert.equal((await exchange(await policy.sign())).status, 200);
    const others = Object.keys(issuer.requestCounts).filter((path) => /^\/\d+$/.test(path));
    assert.equal(others.length, 5);
  });
  it('400 when one of those matches as well: the answer asks for client_id, and neither audit log has an event', async () => {
    const issuer = await startIssuer(t.clock);
    const [one, other] = [await tenant(), await tenant()];
    const mine = await createPolicy(one.policy, issuer);
    await createPolicy({ ...other.policy, subject: mine.subject }, issuer);
    const token = await mine.sign();
    const { status, json } = await exchange(token);
    assert.deepEqual([status, json.error], [400, 'invalid_grant']);
    assert.match(json.error_description, /several agents.*client_id/);
    for (const { organizationId } of [one, other]) assert.deepEqual(await refusalsOf(organizationId), []);
    const { organization_id, reason } = await lastRefusal();
    assert.deepEqual([organization_id, reason], [nilUuid, json.error_description]);
    assert.equal((await exchange(token, { client_id: one.agentId })).status, 200);
  });
  for (const [what, disable] of [
    ['disabled', (policyId: string) => patch(policyId, { status: 'disabled' })],
    ['stricter about age', (policyId: string) => patch(policyId, { maxTokenAgeSeconds: 1 })],
  ] as const) {
    it(`400 when the rightful policy is ${what}: the other organization does not capture the workload`, async () => {
      const issuer = await startIssuer(t.clock);
      const [victim, mallory] = [await tenant(), await tenant()];
      const rightful = await createPolicy(victim.policy, issuer);
      await createPolicy({ ...mallory.policy, subject: rightful.subject }, issuer);
      assert.equal((await disable(rightful.policyId)).status, 200);
      const token = await rightful.sign({ iat: seconds() - 5 });
      const { status, json } = await exchange(token);
      assert.deepEqual([status, json.error], [400, 'invalid_grant']);
      assert.match(json.error_description, /client_id/);
      assert.equal((await exchange(token, { client_id: mallory.agentId })).status, 200, 'by its name');
    });
  }
  for (const [what, path, payload] of [
    ['agent is suspended', 'agents', { status: 'suspended' }],
    ['agent is decommissioned', 'agents', undefined],
    ['organization is suspended', 'organizations', { status: 'suspended' }],
    ['organization is deleted', 'organizations', undefined],
  ] as const) {
    it(`200 although one of those matches as well, once its ${what}`, async () => {
      const issuer = await startIssuer(t.clock);
      const [victim, mallory] = [await tenant(), await tenant()];
      const rightful = await createPolicy({ ...victim.policy, singleUse: false }, issuer);
      const other = await createPolicy({ ...mallory.policy, subject: rightful.subject }, issuer);
      const token = await rightful.sign();
      assert.equal((await exchange(token)).status, 400);
      const id = path === 'agents' ? mallory.agentId : mallory.organizationId;
      const gone = await t.call(payload ? 'PATCH' : 'DELETE', `/api/v1/${path}/${id}`, {
        token: operator,
        ...(payload && { payload }),
      });
      assert.ok(gone.status < 300, gone.text);
      assert.equal((await exchange(token)).status, 200);
      const { json } = await t.call('POST', `/api/v1/oidc/trust-policies/${other.policyId}/test`, {
        token: operator,
        payload: { token },
      });
      const failed = json.checks.filter(({ ok }: { ok: boolean }) => !ok);
      assert.deepEqual([json.matched, failed.map(({ name }: { name: string }) => name)], [false, ['agent']]);
      assert.equal(failed[0].actual, `the ${what}`);
    });
  }
});

describe('a refusal without client_id', () => {
  it('is in the audit log of no organization while the organization is ambiguous', async () => {
    const issuer = await startIssuer(t.clock);
    const [victim, mallory] = [await tenant(), await tenant()];
    const subject = 'project:victim:main';
    await createPolicy(
      { ...mallory.policy, subject: 'project:v*:main', jwksUri: `${issuer.url}/none` },
      issuer,
    );
    await createPolicy({ ...mallory.policy, subject: 'project:v*', conditions: [never] }, issuer);
    const policy = await createPolicy({ ...victim.policy, subject }, issuer);
    for (const [claims, reason] of [
      [{ exp: seconds() - 1 }, 'expired|keys_unavailable'],
      [{ iat: seconds() - 700 }, 'no trust policy matches: age'],
      [{ sub: 'project:vvv' }, /^no trust policy matches/],
      [{ sub: 'project:else' }, 'no trust policy for this token'],
    ] as const) {
      const refusal = await refused(await policy.sign(claims));
      assert.equal(refusal.organization_id, nilUuid);
      assert.match(refusal.reason, new RegExp(reason));
    }
    for (const { organizationId } of [victim, mallory])
      assert.deepEqual(await refusalsOf(organizationId), []);
  });
  it('is in the audit log of the only organization whose policies match the verified token', async () => {
    const issuer = await startIssuer(t.clock);
    const own = await tenant();
    const { agentId } = await t.agent({ organization_id: own.organizationId, allowedScopes: [] });
    const policy = await createPolicy(own.policy, issuer);
    const token = await policy.sign();
    assert.equal((await exchange(token)).status, 200);
    await refused(token);
    await createPolicy({ agentId, scopes: [], subject: policy.subject }, issuer);
    assert.equal((await exchange(await policy.sign())).status, 400);
    const reasons = (await refusalsOf(own.organizationId)).map(({ reason }) => reason);
    assert.deepEqual(reasons, [
      'the token was used before',
      'the token fits policies of several agents: name one with client_id',
    ]);
  });
});

describe('a refusal with client_id', () => {
  it("is in the audit log of the named agent's organization", async () => {
    const issuer = await startIssuer(t.clock);
    const [victim, mallory] = [await tenant(), await tenant()];
    const policy = await createPolicy(victim.policy, issuer);
    await createPolicy({ ...mallory.policy, subject: policy.subject }, issuer);
    await refused(await policy.sign({ exp: seconds() - 1 }), { client_id: victim.agentId });
    const { agentId: agent_id, policyId } = policy;
    assert.deepEqual(await refusalsOf(victim.organizationId), [
      { agent_id, reason: 'expired', policy: policyId },
    ]);
    assert.deepEqual(await refusalsOf(mallory.organizationId), []);
  });
});

describe('within one organization', () => {
  it('400 for the sixth key set, 200 for those before it, with the reason in the audit log', async () => {
    const issuer = await startIssuer(t.clock);
    const own = await tenant();
    const subject = 'project:own:main';
    const policies = [];
    for (let count = 1; count <= 6; count += 1) {
      const keys = await startIssuer(t.clock);
      const policy = await createPolicy(
        { ...own.policy, subject, jwksUri: keys.jwksUri, singleUse: false },
        issuer,
      );
      policies.push({ ...policy, sign: () => keys.sign({ iss: issuer.url, sub: subject }) });
    }
    const statuses = [];
    for (const { sign } of policies) statuses.push((await exchange(await sign())).status);
    assert.deepEqual(statuses, [200, 200, 200, 200, 200, 400]);
    assert.match((await lastRefusal()).reason, /too many key sets/);
  });
});
