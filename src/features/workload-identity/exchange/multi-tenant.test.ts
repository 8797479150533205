/** With MULTI_TENANT=true an external token is exchanged only for the agent that the caller names. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { startApp } from '../../../../test/support/harness.ts';
import { startIssuer } from '../../../../test/support/peers/issuers.ts';
import {
  createDelegationClient,
  jwtType,
  tokenExchange,
} from '../../../../test/support/scenarios/delegations.ts';
import { createTrustClient } from '../../../../test/support/scenarios/trust.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true', MULTI_TENANT: 'true' });
const { operator, createPolicy, exchange, patch } = await createTrustClient(t);
const { delegate } = createDelegationClient(t);

const tenant = async () => {
  const payload = { name: 'Tenant', slug: `tenant-${randomUUID()}` };
  const made = await t.call('POST', '/api/v1/organizations', { token: operator, payload });
  const { organizationId } = made.json;
  const scopes = ['agents:read'];
  const { agentId, ...client } = await t.agent({ organization_id: organizationId, allowedScopes: scopes });
  return { organizationId, agentId, client, policy: { agentId, scopes } };
};

/** Two tenants with a policy for the same workload; the policy of the second is disabled. */
const competingTenants = async () => {
  const issuer = await startIssuer(t.clock);
  const [mallory, victim] = [await tenant(), await tenant()];
  const theirs = await createPolicy(mallory.policy, issuer);
  const rightful = await createPolicy({ ...victim.policy, subject: theirs.subject }, issuer);
  await patch(rightful.policyId, { status: 'disabled' });
  return { issuer, mallory, victim, rightful };
};

const asAssertion = (token: string, more: Record<string, string> = {}) =>
  t.askToken({
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: token,
    ...more,
  });

const eventsOf = (organizationId: string) =>
  t.sql<{ event: string }>(
    `select action || ' ' || metadata::text || ip_address as event from audit_events
     where organization_id = $1 and action like 'token.%'`,
    [organizationId],
  );

describe('400 invalid_request without client_id', () => {
  for (const [where, send] of [
    ['POST /oidc/token', (token: string) => exchange(token)],
    ['POST /oidc/token with an empty one', (token: string) => exchange(token, { client_id: '' })],
    ['POST /token by client_assertion', (token: string) => asAssertion(token)],
    [
      'POST /token by client_assertion for another grant',
      async (token: string) => {
        const [giver, taker] = [await tenant(), await tenant()];
        const lender = await t.token(undefined, { ...giver.client });
        const given = { delegateeId: taker.agentId, scopes: ['agents:read'] };
        const { delegationToken = 'x' } = (await delegate(lender, given)).json;
        return asAssertion(token, {
          grant_type: tokenExchange,
          subject_token: delegationToken,
          subject_token_type: jwtType,
        });
      },
    ],
  ] as const) {
    it(`at ${where}: reads no policy, fetches no keys, writes to no tenant's audit log`, async () => {
      const { issuer, mallory, victim, rightful } = await competingTenants();
      const { status, json } = await send(await rightful.sign());
      assert.deepEqual([status, json.error], [400, 'invalid_request']);
      assert.match(json.error_description, /client_id is required/);
      assert.deepEqual(issuer.requestCounts, {});
      for (const { organizationId } of [mallory, victim])
        assert.deepEqual(await eventsOf(organizationId), []);
    });
  }
});

describe('with client_id', () => {
  it('200 for the named agent; no event in the audit log of another tenant with a matching policy', async () => {
    const { mallory, victim, rightful } = await competingTenants();
    assert.equal((await exchange(await rightful.sign(), { client_id: victim.agentId })).status, 400);
    await patch(rightful.policyId, { status: 'active' });
    assert.equal((await exchange(await rightful.sign(), { client_id: victim.agentId })).status, 200);
    assert.equal((await asAssertion(await rightful.sign(), { client_id: victim.agentId })).status, 200);
    assert.equal((await eventsOf(victim.organizationId)).length, 3);
    assert.deepEqual(await eventsOf(mallory.organizationId), []);
  });
});
