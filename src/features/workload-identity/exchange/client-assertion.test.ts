import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { startApp } from '../../../../test/support/harness.ts';
import { makeKey } from '../../../../test/support/peers/issuers.ts';
import { createTrustClient, ownAudience } from '../../../../test/support/scenarios/trust.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
const { operator, issuer, createPolicy, exchange, lastRefusal, seconds, patch } = await createTrustClient(t);
const url = '/api/v1/oidc';

describe('POST /oidc/trust-policies/{policyId}/test', () => {
  const test = async (policyId: string, token: string) =>
    (await t.call('POST', `${url}/trust-policies/${policyId}/test`, { token: operator, payload: { token } }))
      .json;
  it('200 with the expected and actual value of each check; the token is not used up', async () => {
    const policy = await createPolicy({
      conditions: [{ claim: 'team', operator: 'in', values: ['a', 'b'] }],
    });
    const token = await policy.sign({ team: 'b' });
    for (let times = 0; times < 2; times += 1) {
      const { matched, checks, claims } = await test(policy.policyId, token);
      assert.equal(matched, true, JSON.stringify(checks));
      assert.equal(claims.team, 'b');
      assert.deepEqual(
        checks.map(({ name }: { name: string }) => name),
        [
          'token',
          'signature',
          'status',
          'issuer',
          'audience',
          'subject',
          'condition team in',
          'age',
          'actor',
          'single use',
          'agent',
        ],
      );
    }
    assert.equal((await exchange(token)).status, 200);
    const after = await test(policy.policyId, token);
    assert.equal(after.matched, false);
    assert.deepEqual(
      after.checks.find(({ name }: { name: string }) => name === 'single use'),
      { name: 'single use', ok: false, expected: 'not used before', actual: 'used before' },
    );
  });
  it('200 not matched, with every failed check', async () => {
    const policy = await createPolicy({ conditions: [{ claim: 'team', operator: 'equals', values: ['a'] }] });
    const iat = seconds() - 1_000;
    const wrong = await issuer.sign({ sub: 'x', aud: ['y', 'z'], iat }, { key: await makeKey() });
    await patch(policy.policyId, { status: 'disabled' });
    const youngest = seconds() - iat;
    const { matched, checks } = await test(policy.policyId, wrong);
    const oldest = seconds() - iat;
    assert.equal(matched, false);
    const failed = checks.filter(({ ok }: { ok: boolean }) => !ok);
    const age = Number.parseInt(failed.at(-1)?.actual, 10);
    assert.ok(age >= youngest && age <= oldest, `${age} s`);
    assert.deepEqual(
      failed.map(({ name, expected, actual }: Record<string, string>) => [name, expected, actual]),
      [
        ['signature', "valid now, signed by the issuer's key", 'unknown_key'],
        ['status', 'active', 'disabled'],
        ['audience', ownAudience, 'y, z'],
        ['subject', policy.subject, 'x'],
        ['condition team equals', 'a', null],
        ['age', 'at most 600 s', `${age} s`],
      ],
    );
    assert.deepEqual(await test(policy.policyId, 'garbage'), {
      matched: false,
      checks: [{ name: 'token', ok: false, expected: 'a signed JWT', actual: 'malformed' }],
      claims: {},
    });
  });
});

describe('POST /token with an external token as client assertion', () => {
  const assert_ = (client_assertion: string, more: Record<string, string> = {}) =>
    t.askToken({
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion,
      ...more,
    });
  it('200 an access token, with or without client_id, a single time', async () => {
    const policy = await createPolicy();
    for (const more of [{}, { client_id: policy.agentId }]) {
      const token = await policy.sign();
      const { status, json } = await assert_(token, more);
      assert.equal(status, 200, JSON.stringify(json));
      assert.deepEqual(Object.keys(json).sort(), ['access_token', 'expires_in', 'scope', 'token_type']);
      assert.equal((await t.call('GET', '/api/v1/agents', { token: json.access_token })).status, 200);
      const again = await assert_(token, more);
      assert.deepEqual([again.status, again.json.error], [401, 'invalid_client']);
      assert.equal((await lastRefusal()).reason, 'the token was used before');
      assert.equal((await exchange(token)).status, 400);
    }
  });
  it('401 invalid_client for an invalid token, 403 unauthorized_client for a suspended agent, 400 for an excess scope', async () => {
    const policy = await createPolicy({ singleUse: false });
    const token = await policy.sign();
    const answers = async (given: string, more?: Record<string, string>) => {
      const { status, json } = await assert_(given, more);
      return [status, json.error];
    };
    assert.deepEqual(await answers(await policy.sign({}, { key: await makeKey() })), [401, 'invalid_client']);
    assert.deepEqual(await answers(await policy.sign({ sub: 'other' })), [401, 'invalid_client']);
    assert.deepEqual(await answers(token, { client_id: randomUUID() }), [401, 'invalid_client']);
    assert.deepEqual(await answers(token, { client_secret: 'cs_x' }), [401, 'invalid_client']);
    assert.deepEqual(await answers(token, { scope: 'admin:orgs' }), [400, 'unsupported_grant_type']);
    await t.call('PATCH', `/api/v1/agents/${policy.agentId}`, {
      token: operator,
      payload: { status: 'suspended' },
    });
    assert.deepEqual(await answers(token, { client_id: policy.agentId }), [403, 'unauthorized_client']);
    assert.deepEqual(await answers(token), [401, 'invalid_client'], 'without client_id it has no policy');
  });
  it('401 for an assertion that an agent signs itself under an invented issuer', async () => {
    const policy = await createPolicy();
    const forged = await issuer.sign({ iss: policy.agentId, sub: policy.agentId });
    assert.equal((await assert_(forged, { client_id: policy.agentId })).status, 401);
  });
});
