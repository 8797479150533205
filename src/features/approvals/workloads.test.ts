/** Workloads that ask: they authenticate by an assertion of an external issuer, under a trust policy. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { makeKey } from '../../../test/support/peers/issuers.ts';
import { createApprovalScenario } from '../../../test/support/scenarios/approvals.ts';
import { createTrustClient } from '../../../test/support/scenarios/trust.ts';

const { t, bcAuthorize, poll, decide, member, operate } = await createApprovalScenario({
  WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
});
const { createPolicy } = await createTrustClient(t);

const byAssertion = (assertion: string) => ({
  credentials: {
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: assertion,
  },
});
const answerOf = ({ status, json }: { status: number; json: { error?: string } }) => [status, json.error];
const refusals = (agentId: string) =>
  t.sql("select 1 from audit_events where action = 'token.refused' and agent_id = $1", [agentId]);

describe('a workload under a trust policy', () => {
  it('asks, polls and gets the token; a poll is no refusal and leaves the assertion usable', async () => {
    const { agentId, policyId, sign } = await createPolicy();
    const { browser, personId } = await member();
    const assertion = await sign();
    const asked = await bcAuthorize(byAssertion(assertion), { login_hint: personId });
    assert.equal(asked.status, 200, asked.text);
    const { auth_req_id: authReqId, approval_id: approvalId } = asked.json;
    const again = await bcAuthorize(byAssertion(assertion), { login_hint: personId });
    assert.deepEqual(answerOf(again), [401, 'invalid_client'], 'an assertion asks once');
    assert.equal((await refusals(agentId)).length, 1);

    const second = byAssertion(await sign());
    assert.deepEqual(answerOf(await poll(second, authReqId)), [400, 'authorization_pending']);
    assert.deepEqual(answerOf(await poll(second, authReqId)), [400, 'slow_down']);
    assert.equal((await decide(browser, approvalId)).status, 200);
    const { status, json, text } = await poll(second, authReqId);
    assert.equal(status, 200, text);
    const claims = decodeJwt(json.access_token);
    assert.deepEqual(
      [claims.sub, claims.client_id, claims.scope, claims.trust_policy_id],
      [personId, agentId, 'orders:write', policyId],
    );
    assert.equal((await refusals(agentId)).length, 1, 'polls are not recorded as refusals');
    assert.deepEqual(
      answerOf(await poll(second, authReqId)),
      [401, 'invalid_client'],
      'used up by the token',
    );
  });

  it('a request that is refused leaves the assertion usable', async () => {
    const { sign } = await createPolicy();
    const { personId } = await member();
    const client = byAssertion(await sign());
    const bad = await bcAuthorize(client, { login_hint: personId, scope: 'unknown' });
    assert.deepEqual(answerOf(bad), [400, 'invalid_scope']);
    assert.equal((await bcAuthorize(client, { login_hint: personId })).status, 200);
  });

  it('401 invalid_client for another key, a second proof, and a suspended agent', async () => {
    const { agentId, sign } = await createPolicy({ singleUse: false });
    const { personId } = await member();
    const forged = byAssertion(await sign({}, { key: await makeKey() }));
    assert.deepEqual(answerOf(await bcAuthorize(forged, { login_hint: personId })), [401, 'invalid_client']);
    const client = byAssertion(await sign());
    const two = await bcAuthorize(client, { login_hint: personId, client_secret: 'cs_x' });
    assert.deepEqual(answerOf(two), [401, 'invalid_client']);
    assert.equal((await bcAuthorize(client, { login_hint: personId })).status, 200);
    await operate('PATCH', `/agents/${agentId}`, { status: 'suspended' });
    const suspended = await bcAuthorize(client, { login_hint: personId, client_id: agentId });
    assert.deepEqual(answerOf(suspended), [401, 'invalid_client']);
  });
});
