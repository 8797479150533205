import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { CompactSign } from 'jose';
import { startApp, startOfMinute } from '../../../../test/support/harness.ts';
import { makeKey, startIssuer, startOidcProvider } from '../../../../test/support/peers/issuers.ts';
import { createTrustClient, ownAudience } from '../../../../test/support/scenarios/trust.ts';
import { sql } from '../../../kernel/data/sql.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
const { operator, issuer, createPolicy, exchange, lastRefusal, seconds, patch, refused } =
  await createTrustClient(t);
const url = '/api/v1/oidc';

describe('POST /oidc/token', () => {
  it('200 an access token for the agent, with a token of a real provider (oidc-provider) whose keys are discovered', async () => {
    const provider = await startOidcProvider();
    const { agentId } = await t.agent({ allowedScopes: ['agents:read', 'audit:read'] });
    const policy = {
      agentId,
      name: 'Pipeline',
      provider: 'custom',
      issuer: provider.issuer,
      audiences: [ownAudience],
      conditions: [{ claim: 'client_id', operator: 'equals', values: ['pipeline'] }],
      scopes: ['agents:read'],
    };
    const { json: made } = await t.call('POST', `${url}/trust-policies`, {
      token: operator,
      payload: policy,
    });
    const { status, json, headers } = await exchange(await provider.token(ownAudience));
    assert.equal(status, 200, JSON.stringify(json));
    const { access_token, ...rest } = json;
    assert.deepEqual(rest, {
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'agents:read',
    });
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal((await t.call('GET', `/api/v1/agents/${agentId}`, { token: access_token })).status, 200);
    assert.equal((await t.call('GET', '/api/v1/audit', { token: access_token })).status, 403);
    const inspected = await t.form('/api/v1/token/introspect', { token: access_token }, operator);
    assert.deepEqual([inspected.json.active, inspected.json.client_id], [true, agentId]);
    const shown = await t.call('GET', `${url}/trust-policies/${made.policyId}`, { token: operator });
    assert.ok(Math.abs(Date.parse(shown.json.lastUsedAt) - t.clock.now()) < 60_000);
    assert.equal(shown.json.updatedAt, made.updatedAt);
    const other = await provider.token('https://elsewhere.example');
    assert.match((await refused(other)).reason, /no trust policy/);
  });
  it("200 with fewer scopes and another resource; the agent's current scopes are the limit", async () => {
    const policy = await createPolicy({ singleUse: false });
    const token = await policy.sign();
    const narrow = (await exchange(token, { scope: 'audit:read' })).json;
    assert.equal(narrow.scope, 'audit:read');
    const elsewhere = (await exchange(token, { resource: 'https://mcp.example/tools' })).json;
    assert.equal((await t.call('GET', '/api/v1/agents', { token: elsewhere.access_token })).status, 401);
    await t.call('PATCH', `/api/v1/agents/${policy.agentId}`, {
      token: operator,
      payload: { allowedScopes: ['agents:read'] },
    });
    assert.equal((await exchange(token)).json.scope, 'agents:read');
    assert.equal((await exchange(token, { scope: 'audit:read' })).json.error, 'invalid_scope');
  });
  it('400 invalid_scope for a scope beyond the policy; the token is not used up', async () => {
    const policy = await createPolicy({ scopes: ['agents:read'] });
    const token = await policy.sign();
    for (const scope of ['audit:read', 'admin:orgs', 'agents:read nonsense', '__proto__'])
      assert.deepEqual((await exchange(token, { scope })).json.error, 'invalid_scope', scope);
    assert.equal((await exchange(token)).status, 200);
  });
  for (const [what, changes, error] of [
    ['another grant', { grant_type: 'client_credentials' }, 'unsupported_grant_type'],
    ['an empty token', { subject_token: '' }, 'invalid_request'],
    ['an audience that is not the target', { audience: 'https://other.example' }, 'invalid_target'],
    [
      'another type of token',
      { subject_token_type: 'urn:ietf:params:oauth:token-type:saml2' },
      'invalid_request',
    ],
    ['an actor token', { actor_token: 'x' }, 'invalid_request'],
    [
      'another requested type',
      { requested_token_type: 'urn:ietf:params:oauth:token-type:id_token' },
      'invalid_request',
    ],
    ['a resource that is not a URI', { resource: 'tools' }, 'invalid_target'],
  ] as const) {
    it(`400 ${error} for ${what}`, async () => {
      const { status, json } = await exchange('x.y.z', changes);
      assert.deepEqual([status, json.error], [400, error]);
    });
  }
  it('400 invalid_request for a duplicate field, a field in the query string, or a body that is not a form', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const twice = await t.call('POST', `${url}/token`, { headers: form, payload: 'scope=a&scope=b' });
    const inAddress = await t.call('POST', `${url}/token?subject_token=x`, { headers: form, payload: 'a=b' });
    const json = await t.call('POST', `${url}/token`, { payload: { grant_type: 'x' } });
    for (const answer of [twice, inAddress, json])
      assert.deepEqual([answer.status, answer.json.error], [400, 'invalid_request']);
  });
});

describe('a refused token: a uniform answer, the reason in the audit log', () => {
  const cases: [string, RegExp, (policy: Awaited<ReturnType<typeof createPolicy>>) => Promise<string>][] = [
    ['garbage', /^malformed$/, async () => 'garbage'],
    ['an unknown issuer', /no trust policy/, (policy) => policy.sign({ iss: 'https://unknown.example' })],
    ['another subject', /no trust policy/, (policy) => policy.sign({ sub: 'another-subject' })],
    [
      'a token that an actor holds on behalf of the subject',
      /no trust policy matches: actor/,
      (policy) => policy.sign({ act: { sub: 'another-worker' } }),
    ],
    ['another audience', /no trust policy/, (policy) => policy.sign({ aud: 'https://other.example' })],
    ['no audience', /no trust policy/, (policy) => policy.sign({ aud: undefined })],
    ['an old token', /age/, (policy) => policy.sign({ iat: seconds() - 700 })],
    ['no iat', /age/, (policy) => policy.sign({ iat: undefined })],
    ['an expired token', /^expired$/, (policy) => policy.sign({ exp: seconds() - 1 })],
    ['an iat in the future', /^issued_in_future$/, (policy) => policy.sign({ iat: seconds() + 120 })],
    ['an unknown key', /^unknown_key$/, async (policy) => policy.sign({}, { key: await makeKey() })],
    [
      "an unknown key with the issuer's kid",
      /^bad_signature$/,
      async (policy) =>
        policy.sign({}, { key: { ...(await makeKey()), kid: issuer.keys[0]?.kid as string } }),
    ],
    [
      'crit',
      /^critical_header$/,
      (policy) => policy.sign({}, { header: { crit: ['b64'], b64: true } as never }),
    ],
    ['a token of our own', /^(own_token|type_not_allowed)$/, async () => operator],
  ];
  for (const [what, reason, make] of cases) {
    it(`400 invalid_grant for ${what}`, async () => {
      const policy = await createPolicy();
      assert.match((await refused(await make(policy))).reason, reason);
    });
  }
  it('200 a token with act by a policy with a condition on act; 400 invalid_grant for another actor', async () => {
    const conditions = [{ claim: '/act/sub', operator: 'equals', values: ['worker'] }];
    const policy = await createPolicy({ conditions });
    assert.equal((await exchange(await policy.sign({ act: { sub: 'worker' } }))).status, 200);
    await refused(await policy.sign({ act: { sub: 'another-worker' } }));
  });
  it('200 a claim of any type exists; 400 invalid_grant where it is missing or null', async () => {
    for (const claim of ['act', '/act', '/act/nested']) {
      const policy = await createPolicy({ conditions: [{ claim, operator: 'exists' }] });
      const token = await policy.sign({ act: { sub: 'worker', nested: { sub: 'another' } } });
      assert.equal((await exchange(token)).status, 200, claim);
      for (const act of [undefined, null]) await refused(await policy.sign({ act }));
    }
  });
  it('400 invalid_grant for an ID token of our own', async () => {
    const { json } = await t.form(`${url}/id-token`, { audience: 'https://x.example' }, operator);
    assert.equal((await refused(json.id_token)).reason, 'own_token');
  });
  it("the refusal is in the audit log of the named agent's organization, otherwise in that of none", async () => {
    const policy = await createPolicy();
    const sign = () => policy.sign({ exp: seconds() - 1 });
    const expired = await refused(await sign(), { client_id: policy.agentId });
    assert.deepEqual([expired.agent_id, expired.organization_id], [policy.agentId, policy.organizationId]);
    assert.equal((await refused(await sign())).organization_id, '00000000-0000-0000-0000-000000000000');
    const named = await refused(await policy.sign({ sub: 'other' }), { client_id: policy.agentId });
    assert.deepEqual([named.agent_id, named.reason], [policy.agentId, 'no trust policy matches: subject']);
    const nilUuid = '00000000-0000-0000-0000-000000000000';
    const unknown = await refused('garbage', { client_id: 'x' });
    assert.deepEqual([unknown.agent_id, unknown.organization_id], [nilUuid, nilUuid]);
  });
  it('400 invalid_grant and a policy test, without waiting for a lock on the agent', async () => {
    const policy = await createPolicy();
    const good = await policy.sign();
    await t.app.db.transaction(async (tx) => {
      await tx.run('test.hold', sql`select 1 from agents where agent_id = ${policy.agentId} for update`);
      const named = await refused('garbage', { client_id: policy.agentId });
      assert.deepEqual([named.agent_id, named.organization_id], [policy.agentId, policy.organizationId]);
      const { json } = await t.call('POST', `${url}/trust-policies/${policy.policyId}/test`, {
        token: operator,
        payload: { token: good },
      });
      assert.equal(json.matched, true);
    });
  });
  it('one audit event for each refusal and each token, never with the token itself', async () => {
    const policy = await createPolicy();
    const token = await policy.sign();
    const count = async () =>
      (
        await t.sql<{ n: number }>("select count(*)::int as n from audit_events where action like 'token.%'")
      )[0]?.n ?? 0;
    const before = await count();
    await exchange(token);
    await refused(token);
    assert.equal((await count()) - before, 2);
    const leaks = await t.sql('select 1 from audit_events where metadata::text like $1', [`%${token}%`]);
    assert.equal(leaks.length, 0);
    const [issued] = await t.sql<{ metadata: Record<string, unknown> }>(
      "select metadata from audit_events where action = 'token.issued' and metadata ->> 'policyId' = $1",
      [policy.policyId],
    );
    assert.deepEqual([issued?.metadata.issuer, issued?.metadata.subject], [issuer.url, policy.subject]);
  });
});

describe('arbitrary claims', () => {
  it('200 or 4xx, never 5xx, from the exchange, the policy test and federation/verify', async () => {
    const policy = await createPolicy({
      singleUse: false,
      conditions: [{ claim: '/a/b', operator: 'glob', values: ['x*'] }],
    });
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 3 }),
      fc.constant('\0'),
      fc.constant('\ud800'),
      fc.double(),
    );
    const name = fc.constantFrom(
      'iss',
      'sub',
      'aud',
      'exp',
      'nbf',
      'iat',
      'jti',
      'a',
      '__proto__',
      'constructor',
    );
    const key = issuer.keys[0] as (typeof issuer.keys)[0];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(name, value), { maxLength: 4 }), async (changes) => {
        const good = {
          iss: issuer.url,
          sub: policy.subject,
          aud: ownAudience,
          iat: seconds(),
          exp: seconds() + 60,
        };
        const claims = JSON.stringify({ ...good, a: { b: 'xy' }, ...Object.fromEntries(changes) });
        const token = await new CompactSign(Buffer.from(claims))
          .setProtectedHeader({ alg: key.alg, kid: key.kid })
          .sign(key.privateKey);
        const path = `${url}/trust-policies/${policy.policyId}/test`;
        const statuses = [
          (await exchange(token, { client_id: policy.agentId })).status,
          (await exchange(token)).status,
          (await t.call('POST', path, { token: operator, payload: { token } })).status,
          (await t.call('POST', '/api/v1/federation/verify', { token: operator, payload: { token } })).status,
        ];
        assert.ok(
          statuses.every((status) => status === 200 || status === 400),
          `${claims}: ${statuses}`,
        );
      }),
      { numRuns: 150 },
    );
    // Refusals of unauthenticated requests are throttled in the audit log.
    startOfMinute(t.clock);
  });
});

describe('selection of the agent', () => {
  it('200 for the named agent, or for the only matching one; 400 when several match', async () => {
    const one = await createPolicy({ singleUse: false });
    const token = await one.sign();
    const tokenOf = async (more: Record<string, string> = {}) => {
      const { json } = await exchange(token, more);
      const introspected = await t.form('/api/v1/token/introspect', { token: json.access_token }, operator);
      return introspected.json.client_id;
    };
    assert.equal(await tokenOf(), one.agentId);
    const two = await createPolicy({ subject: one.subject, singleUse: false });
    const { status, json } = await exchange(token);
    assert.deepEqual([status, json.error], [400, 'invalid_grant']);
    assert.equal(
      json.error_description,
      'the token fits policies of several agents: name one with client_id',
    );
    const refusal = await lastRefusal();
    assert.deepEqual([refusal.organization_id, refusal.reason], [one.organizationId, json.error_description]);
    assert.equal(await tokenOf({ client_id: one.agentId }), one.agentId);
    assert.equal(await tokenOf({ client_id: two.agentId.toUpperCase() }), two.agentId);
    assert.match((await refused(token, { client_id: randomUUID() })).reason, /no trust policy/);
    assert.match((await refused(token, { client_id: "x' or 1=1" })).reason, /no trust policy/);
  });
  it('the oldest policy of the agent that grants the requested scopes', async () => {
    const small = await createPolicy({ scopes: ['agents:read'], singleUse: false });
    const large = await createPolicy({
      agentId: small.agentId,
      subject: small.subject.replace(/.$/, '*'),
      singleUse: false,
    });
    const token = await small.sign();
    assert.equal((await exchange(token)).json.scope, 'agents:read');
    assert.equal((await exchange(token, { scope: 'audit:read' })).json.scope, 'audit:read');
    await patch(large.policyId, { status: 'disabled' });
    assert.equal((await exchange(token, { scope: 'audit:read' })).json.error, 'invalid_scope');
  });
  it('400 for keys that only another policy names for the same issuer', async () => {
    const evil = await startIssuer(t.clock);
    const victim = await createPolicy({ singleUse: false });
    const other = await createPolicy({ subject: victim.subject, jwksUri: evil.jwksUri, singleUse: false });
    const agentOf = async (token: string) => {
      const { json } = await exchange(token);
      const introspected = await t.form('/api/v1/token/introspect', { token: json.access_token }, operator);
      return introspected.json.client_id;
    };
    const forged = await evil.sign({ iss: issuer.url, sub: victim.subject });
    assert.equal((await refused(forged, { client_id: victim.agentId })).reason, 'unknown_key');
    // The other policy's keys admit workloads as its own agent only.
    assert.equal(await agentOf(forged), other.agentId);
    assert.equal(await agentOf(await victim.sign()), victim.agentId);
  });
});

describe('GitHub', () => {
  const named = 'repo:octo-org/app:ref:refs/heads/main';
  const numbered = 'repo:octo-org@12/app@34:ref:refs/heads/main';
  const ids = { repository_owner_id: '12', repository_id: '34' };
  for (const [what, subject, claims, status] of [
    ['a policy by name, a subject with ids', named, { sub: numbered }, 200],
    ['a policy by name, a subject without', named, { sub: named, ...ids }, 200],
    ['a policy by id, a subject with the ids', numbered, { sub: numbered }, 200],
    ['a policy by id, a subject without, ids beside it', numbered, { sub: named, ...ids }, 200],
    ['a policy by id, a subject without any', numbered, { sub: named }, 400],
    [
      'a policy by id, other ids: the name has a new owner',
      numbered,
      { sub: numbered.replace('12', '99') },
      400,
    ],
    ['a policy by id, other ids beside it', numbered, { sub: named, ...ids, repository_id: '99' }, 400],
    ['a pattern by name, a subject with ids', 'repo:octo-org/*:ref:refs/heads/main', { sub: numbered }, 200],
    ['another branch', named, { sub: numbered.replace('main', 'main/x') }, 400],
    ['another repository', named, { sub: numbered.replace('app@', 'app2@') }, 400],
  ] as const) {
    it(`${status} for ${what}`, async () => {
      const own = await startIssuer(t.clock);
      const policy = await createPolicy({ provider: 'github', subject }, own);
      const token = await own.sign({ jti: randomUUID(), ...claims });
      assert.equal((await exchange(token)).status, status);
      const again = await own.sign({ ...claims });
      assert.equal((await exchange(again, { client_id: policy.agentId })).status, status);
    });
  }
});
