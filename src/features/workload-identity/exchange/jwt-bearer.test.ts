/** The grant jwt-bearer for workloads: the platform's token is the only proof, and a trust policy says which agent it is. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { startApp } from '../../../../test/support/harness.ts';
import { makeKey } from '../../../../test/support/peers/issuers.ts';
import { createGrants } from '../../../../test/support/scenarios/resources/grants.ts';
import { createTrustClient, ownAudience } from '../../../../test/support/scenarios/trust.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
const { operator, createPolicy, seconds, exchange } = await createTrustClient(t);
const { register, grant } = createGrants(t);
const endpoint = `${ownAudience}/api/v1/token`;
const grant_type = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

const present = (
  assertion: string,
  more: Record<string, string> = {},
  headers: Record<string, string> = {},
) => t.askToken({ grant_type, assertion, ...more }, headers);

const refusals = () =>
  t.sql<{ agent_id: string; reason: string }>(
    "select agent_id, metadata ->> 'reason' as reason from audit_events where action = 'token.refused' order by event_id desc",
  );

/** Asserts the refusal and that it is recorded once; resolves to the reason, which the client is not told. */
async function refused(error: string, ...request: Parameters<typeof present>): Promise<string> {
  const before = (await refusals()).length;
  const { status, json } = await present(...request);
  assert.deepEqual([status, json.error], [400, error], JSON.stringify(json));
  const [last, ...others] = await refusals();
  assert.equal(others.length, before, 'recorded once');
  if (error === 'invalid_grant')
    assert.match(json.error_description, /^the (?:token|assertion) is not one that is/);
  return String(last?.reason);
}

const nested = (levels: number): object | undefined =>
  levels === 0 ? undefined : { sub: `actor-${levels}`, act: nested(levels - 1) };

describe('jwt-bearer with a token of a workload', () => {
  it("200 without client_id: the policy's agent, for our issuer or the token endpoint; without a refresh token", async () => {
    const policy = await createPolicy();
    for (const aud of [ownAudience, endpoint, [endpoint], [ownAudience, 'https://other.example']]) {
      const { status, json } = await present(await policy.sign({ aud }));
      assert.equal(status, 200, JSON.stringify(json));
      const { access_token, ...rest } = json;
      assert.deepEqual(rest, { token_type: 'Bearer', expires_in: 3_600, scope: 'agents:read audit:read' });
      const claims = decodeJwt(access_token);
      assert.deepEqual(
        [claims.sub, claims.client_id, claims.trust_policy_id],
        [policy.agentId, policy.agentId, policy.policyId],
      );
      assert.equal((await t.call('GET', '/api/v1/agents', { token: access_token })).status, 200);
    }
  });

  it('200 with client_id, with scope, and for a resource of the policy', async () => {
    const resource = await register();
    const agent = await t.agent({ allowedScopes: ['agents:read'] });
    await grant(agent.agentId, resource, ['read', 'write']);
    const { identifier } = resource;
    const policy = await createPolicy({
      agentId: agent.agentId,
      scopes: ['agents:read'],
      resources: [{ identifier, scopes: ['read'] }],
    });
    const named = await present(await policy.sign(), { client_id: agent.agentId, scope: 'agents:read' });
    assert.deepEqual([named.status, named.json.scope], [200, 'agents:read']);
    const own = await present(await policy.sign(), { resource: identifier });
    assert.deepEqual([own.status, own.json.scope], [200, 'read'], own.text);
    assert.equal(
      await refused('invalid_scope', await policy.sign(), { resource: identifier, scope: 'write' }),
      'invalid scope: the trust policy gives read',
    );
    await refused('invalid_scope', await policy.sign(), { scope: 'audit:read' });
    const other = await register();
    await refused('invalid_target', await policy.sign(), { resource: other.identifier });
  });

  it("single use is the policy's choice", async () => {
    const [once, often] = [await createPolicy(), await createPolicy({ singleUse: false })];
    const [used, reused] = [await once.sign(), await often.sign()];
    assert.equal((await present(used)).status, 200);
    assert.equal(await refused('invalid_grant', used), 'the token was used before');
    assert.equal((await exchange(used)).json.error, 'invalid_grant', 'at the other route too');
    for (const _ of [1, 2]) assert.equal((await present(reused)).status, 200);
  });

  it('200 with ten nested actors and a condition on them; 400 invalid_request with more, at each route', async () => {
    const policy = await createPolicy({ conditions: [{ claim: '/act/sub', operator: 'exists' }] });
    assert.equal((await present(await policy.sign({ act: nested(10) }))).status, 200);
    for (const levels of [11, 40, 300])
      assert.equal(
        await refused('invalid_request', await policy.sign({ act: nested(levels) })),
        'too_many_actors',
      );
    assert.equal((await exchange(await policy.sign({ act: nested(11) }))).json.error, 'invalid_request');
    const dry = await t.call('POST', `/api/v1/oidc/trust-policies/${policy.policyId}/test`, {
      token: operator,
      payload: { token: await policy.sign({ act: nested(11) }) },
    });
    assert.deepEqual([dry.json.matched, dry.json.checks[0].actual], [false, 'too_many_actors']);
  });

  it('the dry run accepts a token for the token endpoint, as the grant does', async () => {
    const policy = await createPolicy();
    const dry = await t.call('POST', `/api/v1/oidc/trust-policies/${policy.policyId}/test`, {
      token: operator,
      payload: { token: await policy.sign({ aud: endpoint }) },
    });
    assert.equal(dry.json.matched, true, dry.text);
  });

  const mutations: [string, Record<string, unknown> | (() => object), string][] = [
    ['another subject', { sub: 'workload-of-others' }, 'no trust policy for this token'],
    ['no subject', { sub: undefined }, 'no trust policy for this token'],
    ['another audience', { aud: 'https://other.example' }, 'no trust policy for this token'],
    ['another endpoint of ours', { aud: `${endpoint}/introspect` }, 'no trust policy for this token'],
    ['no audience', { aud: undefined }, 'no trust policy for this token'],
    ['another issuer', { iss: 'https://issuer.example' }, 'no trust policy for this token'],
    ['our own issuer', { iss: ownAudience }, 'own_token'],
    ['no issuer', { iss: undefined }, 'missing_claim'],
    ['no exp', { exp: undefined }, 'missing_claim'],
    ['an exp that has passed', () => ({ exp: seconds() }), 'expired'],
    ['an nbf in the future', () => ({ nbf: seconds() + 120 }), 'not_yet_valid'],
    ['no iat', { iat: undefined }, 'no trust policy matches: age'],
    ['an old iat', () => ({ iat: seconds() - 1_000 }), 'no trust policy matches: age'],
    ['an actor', { act: { sub: 'another' } }, 'no trust policy matches: actor'],
  ];
  for (const [name, changes, reason] of mutations) {
    it(`400 invalid_grant with ${name}`, async () => {
      const policy = await createPolicy();
      const mutated = await policy.sign(typeof changes === 'function' ? changes() : changes);
      assert.equal(await refused('invalid_grant', mutated), reason);
    });
  }

  it('400 invalid_grant with another key, type, algorithm or signature', async () => {
    const policy = await createPolicy();
    const token = await policy.sign();
    const [header, payload] = token.split('.');
    assert.equal(
      await refused('invalid_grant', await policy.sign({}, { key: await makeKey() })),
      'unknown_key',
    );
    assert.equal(
      await refused('invalid_grant', await policy.sign({}, { header: { typ: 'secevent+jwt' } })),
      'type_not_allowed',
    );
    assert.equal(await refused('invalid_grant', `${header}.${payload}.${'A'.repeat(86)}`), 'bad_signature');
    assert.equal(await refused('invalid_grant', `${header}.${payload}`), 'malformed');
    assert.equal(await refused('invalid_grant', 'no token'), 'malformed');
    assert.equal(await refused('invalid_grant', await t.token()), 'own_token');
    assert.equal((await present(token)).status, 200, 'the refusals have not used it up');
  });

  it('400 invalid_grant beside another proof: the client authenticates by that one, and has no identity assertion', async () => {
    const policy = await createPolicy();
    const agent = await t.agent();
    const credentials = { client_id: agent.clientId, client_secret: agent.clientSecret };
    assert.equal(await refused('invalid_grant', await policy.sign(), credentials), 'type_not_allowed');
    const basic = { authorization: `Basic ${btoa(`${agent.clientId}:${agent.clientSecret}`)}` };
    assert.equal(await refused('invalid_grant', await policy.sign(), {}, basic), 'type_not_allowed');
    const wrong = await present(await policy.sign(), { ...credentials, client_secret: 'cs_wrong' });
    assert.deepEqual([wrong.status, wrong.json.error], [401, 'invalid_client']);
  });

  it('400 invalid_request without an assertion', async () => {
    const { status, json } = await t.askToken({ grant_type, client_id: randomUUID() });
    assert.deepEqual(
      [status, json.error, json.error_description],
      [400, 'invalid_request', 'assertion is required'],
    );
  });

  it('400 invalid_grant for an agent that is suspended, and for a policy that is disabled', async () => {
    const [first, second] = [await createPolicy(), await createPolicy()];
    await t.call('PATCH', `/api/v1/agents/${first.agentId}`, {
      token: operator,
      payload: { status: 'suspended' },
    });
    assert.match(
      await refused('invalid_grant', await first.sign(), { client_id: first.agentId }),
      /suspended/,
    );
    await t.call('PATCH', `/api/v1/oidc/trust-policies/${second.policyId}`, {
      token: operator,
      payload: { status: 'disabled' },
    });
    assert.equal(await refused('invalid_grant', await second.sign()), 'no trust policy matches: status');
  });
});

it('400 invalid_request without client_id on an instance of several tenants', async () => {
  const tenants = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true', MULTI_TENANT: 'true' });
  const assertion = 'eyJhbGciOiJFUzI1NiJ9.e30.AA';
  const { status, json } = await tenants.askToken({ grant_type, assertion });
  assert.deepEqual([status, json.error], [400, 'invalid_request']);
});
