import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose';
import { startApp } from '../../../../test/support/harness.ts';
import { createTrustClient, ownAudience } from '../../../../test/support/scenarios/trust.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
const { operator, createPolicy, exchange } = await createTrustClient(t);
const url = '/api/v1/oidc';

describe('POST /oidc/id-token', () => {
  const ask = (form: Record<string, string>, as = operator) => t.form(`${url}/id-token`, form, as);
  it('200 a token that verifies with our published keys and gives no access to our API', async () => {
    const client = await t.agent({ allowedScopes: [] });
    const bearer = await t.token(undefined, client);
    const { status, json, headers } = await ask({ audience: 'sts.amazonaws.com' }, bearer);
    assert.equal(status, 200, JSON.stringify(json));
    assert.deepEqual(
      [json.expires_in, json.audience, json.issued_token_type],
      [300, 'sts.amazonaws.com', 'urn:ietf:params:oauth:token-type:id_token'],
    );
    assert.equal(headers['cache-control'], 'no-store');
    const discovered = (await t.call('GET', '/.well-known/openid-configuration')).json;
    const jwks = (await t.call('GET', new URL(discovered.jwks_uri).pathname)).json;
    const { payload, protectedHeader } = await jwtVerify(json.id_token, createLocalJWKSet(jwks), {
      issuer: discovered.issuer,
      audience: 'sts.amazonaws.com',
      algorithms: discovered.id_token_signing_alg_values_supported,
      currentDate: new Date(t.clock.now()),
    });
    assert.equal(protectedHeader.typ, 'JWT');
    const { jti, iat = 0, ...claims } = payload;
    assert.ok(jti);
    assert.deepEqual(claims, {
      iss: ownAudience,
      sub: client.agentId,
      aud: 'sts.amazonaws.com',
      exp: iat + 300,
      organization_id: t.operator.organizationId,
    });
    for (const name of Object.keys(payload)) assert.ok(discovered.claims_supported.includes(name), name);

    assert.equal((await t.call('GET', '/api/v1/agents', { token: json.id_token })).status, 401);
    assert.deepEqual((await t.form('/api/v1/token/introspect', { token: json.id_token }, operator)).json, {
      active: false,
    });
    const assertion = await t.askToken({
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: json.id_token,
    });
    assert.equal(assertion.status, 401);
  });
  it('200 until the end of the access token at the latest, for a token of a workload', async () => {
    const policy = await createPolicy();
    const workload = (await exchange(await policy.sign())).json.access_token;
    t.clock.advance(600_000);
    const { json } = await ask({ audience: 'x', ttl: '3600' }, workload);
    const { exp, iat = 0 } = decodeJwt(json.id_token);
    assert.equal(exp, decodeJwt(workload).exp);
    assert.equal(json.expires_in, Number(exp) - iat);
    const own = await t.token();
    t.clock.advance(600_000);
    assert.equal((await ask({ audience: 'x', ttl: '3600' }, own)).json.expires_in, 3600);
  });
  it('200 with the trust policy, for a token of a workload', async () => {
    const policy = await createPolicy();
    const workload = (await exchange(await policy.sign())).json.access_token;
    const { status, json, text } = await ask({ audience: 'sts.amazonaws.com' }, workload);
    assert.equal(status, 200, text);
    const { sub, trust_policy_id } = decodeJwt(json.id_token);
    assert.deepEqual({ sub, trust_policy_id }, { sub: policy.agentId, trust_policy_id: policy.policyId });
  });
  it('200 with the requested lifetime, from a minute to an hour', async () => {
    for (const ttl of ['60', '3600'])
      assert.equal((await ask({ audience: 'x', ttl })).json.expires_in, Number(ttl));
  });
  for (const [what, form] of [
    ['no audience', {}],
    ['an empty audience', { audience: '' }],
    ['an audience with a space', { audience: 'a b' }],
    ['an audience of 1,025 characters', { audience: 'x'.repeat(1025) }],
    ['this instance as audience', { audience: 'HTTP://countersign.test/' }],
    ['59 seconds', { audience: 'x', ttl: '59' }],
    ['3,601 seconds', { audience: 'x', ttl: '3601' }],
    ['a ttl that is no number', { audience: 'x', ttl: '1e3' }],
    ['an unknown field', { audience: 'x', expires: '60' }],
    ['a negative ttl', { audience: 'x', ttl: '-300' }],
  ] as const) {
    it(`400 VALIDATION_ERROR for ${what}`, async () => {
      const { status, json } = await ask(form as Record<string, string>);
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR']);
    });
  }
  it('records one audit event, and is counted with the exchanges', async () => {
    const counted = async () =>
      Number(/^service_oidc_tokens_issued_total (\d+)/m.exec((await t.call('GET', '/metrics')).text)?.[1]);
    const before = await counted();
    await ask({ audience: 'counted.example' });
    const events = await t.sql<{ action: string }>(
      "select action from audit_events where metadata ->> 'audience' = 'counted.example'",
    );
    assert.deepEqual(events, [{ action: 'id_token.issued' }]);
    assert.equal(await counted(), before + 1);
    await exchange(await (await createPolicy()).sign());
    assert.equal(await counted(), before + 2);
  });
});
