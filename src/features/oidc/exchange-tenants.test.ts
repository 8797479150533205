import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/harness.ts';
import { startIssuer } from '../../../test/issuers.ts';
import { createTrust } from '../../../test/trust.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
const { operator, policyFor, exchange, seconds, refused } = await createTrust(t);

/** An agent in an organization of its own. */
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

describe('without client_id, what another organization has written', () => {
  it('200 although it names five other key sets for the same subject', async () => {
    const issuer = await startIssuer(t.clock);
    const [victim, mallory] = [await tenant(), await tenant()];
    const subject = 'project:victim:main';
    for (let count = 1; count <= 5; count += 1)
      await policyFor({ ...mallory.policy, subject, jwksUri: `${issuer.url}/${count}` }, issuer);
    const policy = await policyFor({ ...victim.policy, subject }, issuer);
    const { status, text } = await exchange(await policy.sign());
    assert.equal(status, 200, text);
    assert.deepEqual(await refusalsOf(mallory.organizationId), []);
  });
  it('200 although it has a hundred and one policies that never match', async () => {
    const issuer = await startIssuer(t.clock);
    const [victim, mallory] = [await tenant(), await tenant()];
    const rest = { ...mallory.policy, subject: 'project:v*' };
    for (let count = 0; count <= 100; count += 1) {
      const conditions = [{ ...never, values: [`${count}`] }];
      await policyFor({ ...rest, conditions }, issuer);
    }
    const policy = await policyFor({ ...victim.policy, subject: 'project:victim:main' }, issuer);
    const { status, text } = await exchange(await policy.sign());
    assert.equal(status, 200, text);
  });
  it('200 although it has many more key sets that fit than are ever asked', async () => {
    const issuer = await startIssuer(t.clock);
    const [victim, mallory] = [await tenant(), await tenant()];
    const subject = 'project:victim:main';
    for (let count = 1; count <= 30; count += 1)
      await policyFor({ ...mallory.policy, subject, jwksUri: `${issuer.url}/${count}` }, issuer);
    const policy = await policyFor({ ...victim.policy, subject }, issuer);
    assert.equal((await exchange(await policy.sign())).status, 200);
    const others = Object.keys(issuer.asked).filter((path) => /^\/\d+$/.test(path));
    assert.equal(others.length, 5);
  });
  it('400 when it really fits as well: each is told in its own log, and the answer says that client_id helps', async () => {
    const issuer = await startIssuer(t.clock);
    const [one, other] = [await tenant(), await tenant()];
    const mine = await policyFor(one.policy, issuer);
    const theirs = await policyFor({ ...other.policy, subject: mine.subject }, issuer);
    const token = await mine.sign();
    const { status, json } = await exchange(token);
    assert.deepEqual([status, json.error], [400, 'invalid_grant']);
    assert.match(json.error_description, /several agents.*client_id/);
    for (const [{ organizationId, agentId }, { policyId }] of [
      [one, mine],
      [other, theirs],
    ] as const) {
      const reason = 'the token fits policies of several agents: name one with client_id';
      const told = [{ agent_id: agentId, reason, policy: policyId }];
      assert.deepEqual(await refusalsOf(organizationId), told);
    }
    assert.equal((await exchange(token, { client_id: one.agentId })).status, 200);
  });
});

describe('a refusal is in the log of whoever was meant', () => {
  it('although another organization has older policies for the subject', async () => {
    const issuer = await startIssuer(t.clock);
    const [victim, mallory] = [await tenant(), await tenant()];
    const subject = 'project:victim:main';
    await policyFor({ ...mallory.policy, subject: 'project:v*:main', jwksUri: `${issuer.url}/none` }, issuer);
    await policyFor({ ...mallory.policy, subject: 'project:v*', conditions: [never] }, issuer);
    const policy = await policyFor({ ...victim.policy, subject }, issuer);
    await refused(await policy.sign({ exp: seconds() - 1 }));
    await refused(await policy.sign({ iat: seconds() - 700 }));
    const { agentId, policyId } = policy;
    assert.deepEqual(await refusalsOf(victim.organizationId), [
      { agent_id: agentId, reason: 'expired', policy: policyId },
      { agent_id: agentId, reason: 'no trust policy matches: age', policy: policyId },
    ]);
    // Whoever names the subject by a pattern is told what their own policy made of it, and no more.
    const told = (await refusalsOf(mallory.organizationId)).map(({ reason }) => reason);
    assert.deepEqual(told, ['keys_unavailable', 'no trust policy matches: age']);
  });
  it("and in nobody else's: a policy that means somebody else tells nothing about this one", async () => {
    const issuer = await startIssuer(t.clock);
    const [victim, stranger] = [await tenant(), await tenant()];
    const conditions = [{ claim: 'project', operator: 'equals', values: ['theirs'] }];
    await policyFor({ ...stranger.policy, subject: null, conditions }, issuer);
    const policy = await policyFor(victim.policy, issuer);
    await refused(await policy.sign({ iat: seconds() - 700 }));
    assert.equal((await refusalsOf(victim.organizationId)).length, 1);
    assert.deepEqual(await refusalsOf(stranger.organizationId), []);
  });
  it('of many organizations five are told of what anybody can bring, whoever names the subject exactly first', async () => {
    const issuer = await startIssuer(t.clock);
    const others = await Promise.all(Array.from({ length: 6 }, tenant));
    for (const { policy } of others) await policyFor({ ...policy, subject: 'project:v*:main' }, issuer);
    const victim = await tenant();
    const policy = await policyFor({ ...victim.policy, subject: 'project:victim:main' }, issuer);
    await refused(await policy.sign({ exp: seconds() - 1 }));
    assert.equal((await refusalsOf(victim.organizationId)).length, 1);
    const told = await Promise.all(others.map(({ organizationId }) => refusalsOf(organizationId)));
    assert.equal(told.flat().length, 4);
  });
});

describe('within one organization', () => {
  it('400 for the sixth key set, 200 for those before it, and the log says why', async () => {
    const issuer = await startIssuer(t.clock);
    const own = await tenant();
    const subject = 'project:own:main';
    const policies = [];
    for (let count = 1; count <= 6; count += 1) {
      const keys = await startIssuer(t.clock);
      const policy = await policyFor(
        { ...own.policy, subject, jwksUri: keys.jwksUri, singleUse: false },
        issuer,
      );
      policies.push({ ...policy, sign: () => keys.sign({ iss: issuer.url, sub: subject }) });
    }
    const statuses = [];
    for (const { sign } of policies) statuses.push((await exchange(await sign())).status);
    assert.deepEqual(statuses, [200, 200, 200, 200, 200, 400]);
    const [told] = await refusalsOf(own.organizationId);
    assert.match(told?.reason ?? '', /too many key sets/);
  });
});
