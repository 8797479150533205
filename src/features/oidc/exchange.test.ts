import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { CompactSign, createLocalJWKSet, jwtVerify } from 'jose';
import { startApp } from '../../../test/harness.ts';
import { type Issuer, makeKey, startIssuer, startOidcProvider } from '../../../test/issuers.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
const operator = await t.token();
const url = '/api/v1/oidc';
const ours = 'http://countersign.test';
const issuer = await startIssuer(t.clock);
const seconds = () => Math.floor(t.clock.now() / 1000);

/** A policy for an agent of its own, by a subject of its own. */
async function policyFor(changes: Record<string, unknown> = {}, from: Issuer = issuer) {
  const subject = `workload-${randomUUID()}`;
  const agentId =
    changes.agentId ?? (await t.agent({ allowedScopes: ['agents:read', 'audit:read'] })).agentId;
  const payload = {
    agentId,
    name: 'Pipeline',
    provider: 'custom',
    issuer: from.url,
    audiences: [ours],
    subject,
    scopes: ['agents:read', 'audit:read'],
    ...changes,
  };
  const { status, json } = await t.call('POST', `${url}/trust-policies`, { token: operator, payload });
  assert.equal(status, 201, JSON.stringify(json));
  return {
    ...json,
    sign: (more: object = {}, options = {}) => from.sign({ sub: subject, ...more }, options),
  };
}
const exchange = (subject_token: string, more: Record<string, string> = {}) =>
  t.form(`${url}/token`, {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    subject_token,
    ...more,
  });
const patch = (id: string, payload: object) =>
  t.call('PATCH', `${url}/trust-policies/${id}`, { token: operator, payload });
interface Refusal {
  agent_id: string;
  organization_id: string;
  reason: string;
}
const lastRefusal = async (): Promise<Refusal> => {
  const [row] = await t.sql<Refusal>(
    "select agent_id, organization_id, metadata ->> 'reason' as reason from audit_events where action = 'token.refused' order by event_id desc limit 1",
  );
  return row as Refusal;
};
/** Refused in the one way there is; answers what the log says. */
const refused = async (token: string, more: Record<string, string> = {}): Promise<Refusal> => {
  const { status, json } = await exchange(token, more);
  assert.deepEqual([status, json.error], [400, 'invalid_grant'], JSON.stringify(json));
  assert.equal(json.error_description, 'the token is not one that is trusted here');
  return lastRefusal();
};

describe('POST /oidc/token', () => {
  it('200 an access token as the agent, for a token of a real provider (oidc-provider) found by discovery', async () => {
    const provider = await startOidcProvider();
    const { agentId } = await t.agent({ allowedScopes: ['agents:read', 'audit:read'] });
    const policy = {
      agentId,
      name: 'Pipeline',
      provider: 'custom',
      issuer: provider.issuer,
      audiences: [ours],
      conditions: [{ claim: 'client_id', operator: 'equals', values: ['pipeline'] }],
      scopes: ['agents:read'],
    };
    const { json: made } = await t.call('POST', `${url}/trust-policies`, {
      token: operator,
      payload: policy,
    });
    const { status, json, headers } = await exchange(await provider.token(ours));
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
  it('200 with fewer scopes and another resource; the agent now says how many', async () => {
    const policy = await policyFor({ singleUse: false });
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
  it('400 invalid_scope for what the policy does not give, and nothing is used up', async () => {
    const policy = await policyFor({ scopes: ['agents:read'] });
    const token = await policy.sign();
    for (const scope of ['audit:read', 'admin:orgs', 'agents:read nonsense', '__proto__'])
      assert.deepEqual((await exchange(token, { scope })).json.error, 'invalid_scope', scope);
    assert.equal((await exchange(token)).status, 200);
  });
  for (const [what, changes, error] of [
    ['another grant', { grant_type: 'client_credentials' }, 'unsupported_grant_type'],
    ['an empty token', { subject_token: '' }, 'invalid_request'],
    [
      'another type of token',
      { subject_token_type: 'urn:ietf:params:oauth:token-type:saml2' },
      'invalid_request',
    ],
    ['an actor token', { actor_token: 'x' }, 'invalid_request'],
    [
      'another type wanted',
      { requested_token_type: 'urn:ietf:params:oauth:token-type:id_token' },
      'invalid_request',
    ],
    ['a resource that is none', { resource: 'tools' }, 'invalid_target'],
  ] as const) {
    it(`400 ${error} for ${what}`, async () => {
      const { status, json } = await exchange('x.y.z', changes);
      assert.deepEqual([status, json.error], [400, error]);
    });
  }
  it('400 invalid_request for a field given twice, in the address, or a body that is no form', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const twice = await t.call('POST', `${url}/token`, { headers: form, payload: 'scope=a&scope=b' });
    const inAddress = await t.call('POST', `${url}/token?subject_token=x`, { headers: form, payload: 'a=b' });
    const json = await t.call('POST', `${url}/token`, { payload: { grant_type: 'x' } });
    for (const answer of [twice, inAddress, json])
      assert.deepEqual([answer.status, answer.json.error], [400, 'invalid_request']);
  });
});

describe('a token that is not taken: the same answer to all, the reason in the log', () => {
  const cases: [string, RegExp, (policy: Awaited<ReturnType<typeof policyFor>>) => Promise<string>][] = [
    ['garbage', /^malformed$/, async () => 'garbage'],
    ['an unknown issuer', /no trust policy/, (policy) => policy.sign({ iss: 'https://unknown.example' })],
    ['another subject', /no trust policy/, (policy) => policy.sign({ sub: 'somebody' })],
    ['another audience', /no trust policy/, (policy) => policy.sign({ aud: 'https://other.example' })],
    ['no audience', /no trust policy/, (policy) => policy.sign({ aud: undefined })],
    ['an old token', /age/, (policy) => policy.sign({ iat: seconds() - 700 })],
    ['no iat', /age/, (policy) => policy.sign({ iat: undefined })],
    ['an expired token', /^expired$/, (policy) => policy.sign({ exp: seconds() - 1 })],
    ['an iat in the future', /^issued_in_future$/, (policy) => policy.sign({ iat: seconds() + 120 })],
    ["a stranger's key", /^unknown_key$/, async (policy) => policy.sign({}, { key: await makeKey() })],
    [
      "a stranger's key by the issuer's name",
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
      const policy = await policyFor();
      assert.match((await refused(await make(policy))).reason, reason);
    });
  }
  it('an ID token of our own is no outside token, even where a policy names us by another spelling', async () => {
    const { json } = await t.form(`${url}/id-token`, { audience: 'https://x.example' }, operator);
    assert.equal((await refused(json.id_token)).reason, 'own_token');
  });
  it('the refusal is in the log of whoever wrote the policy, or of the agent that was named', async () => {
    const policy = await policyFor();
    const expired = await refused(await policy.sign({ exp: seconds() - 1 }));
    assert.deepEqual([expired.agent_id, expired.organization_id], [policy.agentId, policy.organizationId]);
    const named = await refused(await policy.sign({ sub: 'other' }), { client_id: policy.agentId });
    assert.deepEqual([named.agent_id, named.reason], [policy.agentId, 'no trust policy matches: subject']);
    const nobody = '00000000-0000-0000-0000-000000000000';
    const unknown = await refused('garbage', { client_id: 'x' });
    assert.deepEqual([unknown.agent_id, unknown.organization_id], [nobody, nobody]);
  });
  it('one event for each refusal and each token, never with the token in it', async () => {
    const policy = await policyFor();
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

describe('claims of any kind', () => {
  it('200 or 4xx, never a 5xx, from the exchange, the test and the verification', async () => {
    const policy = await policyFor({
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
        const good = { iss: issuer.url, sub: policy.subject, aud: ours, iat: seconds(), exp: seconds() + 60 };
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
  });
});

describe('single use', () => {
  it('of 100 redemptions at once exactly one succeeds', async () => {
    const policy = await policyFor();
    const token = await policy.sign();
    const answers = await Promise.all(Array.from({ length: 100 }, () => exchange(token)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    assert.equal(
      answers.filter(({ status, json }) => status === 400 && json.error === 'invalid_grant').length,
      99,
    );
    assert.equal((await lastRefusal()).reason, 'the token was used before');
  });
  it('without a jti the token itself counts, in whatever spelling of its signature', async () => {
    const policy = await policyFor();
    const token = await policy.sign({ jti: undefined });
    assert.equal((await exchange(token)).status, 200);
    assert.equal((await refused(token)).reason, 'the token was used before');
    const last = token.at(-1) as string;
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const respelt = token.slice(0, -1) + alphabet[alphabet.indexOf(last) ^ 1];
    const { status } = await exchange(respelt);
    assert.equal(status, 400);
    assert.equal((await exchange(await policy.sign({ jti: undefined, nonce: 'x' }))).status, 200);
  });
  it('counts for every policy and agent: a token makes nobody two agents', async () => {
    const first = await policyFor();
    const second = await policyFor({ subject: first.subject });
    const token = await first.sign();
    assert.equal((await exchange(token, { client_id: first.agentId })).status, 200);
    assert.equal((await refused(token, { client_id: second.agentId })).reason, 'the token was used before');
  });
  it('as often as one likes where the policy says so, and records of use go when the token would have', async () => {
    const policy = await policyFor({ singleUse: false });
    const token = await policy.sign();
    assert.deepEqual([(await exchange(token)).status, (await exchange(token)).status], [200, 200]);
    const used = async () => (await t.sql('select 1 from used_outside_tokens')).length;
    assert.ok((await used()) > 0);
    t.clock.advance(90_000_000);
    const loop = t.app.loops;
    loop.start();
    for (let tries = 0; tries < 200 && (await used()) > 0; tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 25));
    await loop.stop();
    t.clock.advance(-90_000_000);
    assert.equal(await used(), 0);
  });
});

describe('the rate window', () => {
  it('429 for the address that brings what is not taken; the client is not locked out by a token of its own', async () => {
    const few = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true', RATE_LIMIT_PER_MINUTE: '8' });
    const own = await startIssuer(few.clock);
    const bearer = await few.token();
    const client = await few.agent({ allowedScopes: [] });
    const payload = {
      ...{ agentId: client.agentId, name: 'Pipeline', provider: 'custom', issuer: own.url },
      ...{ audiences: [ours], subject: 'workload-1', scopes: [] },
    };
    const made = await few.call('POST', `${url}/trust-policies`, { token: bearer, payload });
    assert.equal(made.status, 201, made.text);
    const bring = (subject_token: string, remoteAddress: string) =>
      few.call('POST', `${url}/token`, {
        remoteAddress,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams({
          grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
          subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
          subject_token,
        }).toString(),
      });
    const token = await own.sign();
    assert.equal((await bring(token, '192.0.2.1')).status, 200);
    const replays = [];
    for (let count = 0; count < 9; count += 1) replays.push((await bring(token, '192.0.2.2')).status);
    assert.deepEqual(replays, [...Array(8).fill(400), 429]);
    assert.equal((await bring(await own.sign(), '192.0.2.2')).status, 429);
    const { status, headers } = await bring(await own.sign(), '192.0.2.1');
    assert.deepEqual([status, headers['x-ratelimit-remaining']], [200, '6']);
  });
});

describe('which agent', () => {
  it('the one that is named; without a name the only one; several are refused', async () => {
    const one = await policyFor({ singleUse: false });
    const token = await one.sign();
    const tokenOf = async (more: Record<string, string> = {}) => {
      const { json } = await exchange(token, more);
      const asked = await t.form('/api/v1/token/introspect', { token: json.access_token }, operator);
      return asked.json.client_id;
    };
    assert.equal(await tokenOf(), one.agentId);
    const two = await policyFor({ subject: one.subject, singleUse: false });
    assert.match((await refused(token)).reason, /several agents/);
    assert.equal(await tokenOf({ client_id: one.agentId }), one.agentId);
    assert.equal(await tokenOf({ client_id: two.agentId.toUpperCase() }), two.agentId);
    assert.match((await refused(token, { client_id: randomUUID() })).reason, /no trust policy/);
    assert.match((await refused(token, { client_id: "x' or 1=1" })).reason, /no trust policy/);
  });
  it('of two policies of one agent the oldest that gives what is asked', async () => {
    const small = await policyFor({ scopes: ['agents:read'], singleUse: false });
    const large = await policyFor({
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
  it("keys that another policy names for the same issuer do not count for this one's", async () => {
    const evil = await startIssuer(t.clock);
    const victim = await policyFor({ singleUse: false });
    const other = await policyFor({ subject: victim.subject, jwksUri: evil.jwksUri, singleUse: false });
    const agentOf = async (token: string) => {
      const { json } = await exchange(token);
      const asked = await t.form('/api/v1/token/introspect', { token: json.access_token }, operator);
      return asked.json.client_id;
    };
    const forged = await evil.sign({ iss: issuer.url, sub: victim.subject });
    assert.equal((await refused(forged, { client_id: victim.agentId })).reason, 'unknown_key');
    // Whoever wrote the other policy chose whose keys make somebody its own agent, and no more.
    assert.equal(await agentOf(forged), other.agentId);
    assert.equal(await agentOf(await victim.sign()), victim.agentId);
  });
});

describe('at once', () => {
  it('a policy that is disabled, changed or deleted lets nobody in', async () => {
    const policy = await policyFor({ singleUse: false });
    const token = await policy.sign();
    assert.equal((await exchange(token)).status, 200);
    await patch(policy.policyId, { status: 'disabled' });
    assert.match((await refused(token)).reason, /no trust policy/);
    assert.match((await refused(token, { client_id: policy.agentId })).reason, /status/);
    await patch(policy.policyId, { status: 'active', audiences: ['https://other.example'] });
    assert.match((await refused(token, { client_id: policy.agentId })).reason, /audience/);
    await patch(policy.policyId, { audiences: [ours] });
    assert.equal((await exchange(token)).status, 200);
    await t.call('DELETE', `${url}/trust-policies/${policy.policyId}`, { token: operator });
    assert.match((await refused(token)).reason, /no trust policy/);
  });
  it('an agent that is suspended or decommissioned has nobody, nor one of a suspended organization', async () => {
    const organization = await t.call('POST', '/api/v1/organizations', {
      token: operator,
      payload: { name: 'Other', slug: `other-${randomUUID().slice(0, 8)}` },
    });
    const { organizationId } = organization.json;
    const { agentId } = await t.agent({ organization_id: organizationId, allowedScopes: ['agents:read'] });
    const policy = await policyFor({ agentId, scopes: ['agents:read'], singleUse: false });
    const token = await policy.sign();
    const { access_token } = (await exchange(token)).json;
    const set = (path: string, status: string) =>
      t.call('PATCH', `/api/v1/${path}`, { token: operator, payload: { status } });
    await set(`organizations/${organizationId}`, 'suspended');
    assert.match((await refused(token)).reason, /organization is suspended/);
    await set(`organizations/${organizationId}`, 'active');
    assert.equal((await exchange(token)).status, 200);
    await set(`agents/${agentId}`, 'suspended');
    assert.match((await refused(token)).reason, /agent is suspended/);
    assert.equal((await t.call('GET', '/api/v1/agents', { token: access_token })).status, 401);
    await set(`agents/${agentId}`, 'active');
    assert.equal((await exchange(token)).status, 200);
    await t.call('DELETE', `/api/v1/agents/${agentId}`, { token: operator });
    assert.match((await refused(token)).reason, /agent is decommissioned/);
  });
  for (const [what, change] of [
    [
      'deleted',
      (policy) => t.call('DELETE', `${url}/trust-policies/${policy.policyId}`, { token: operator }),
    ],
    ['disabled', (policy) => patch(policy.policyId, { status: 'disabled' })],
    ['given other keys', (policy) => patch(policy.policyId, { jwksUri: 'https://other.example/keys' })],
    [
      'for an agent that is suspended',
      (policy) =>
        t.call('PATCH', `/api/v1/agents/${policy.agentId}`, {
          token: operator,
          payload: { status: 'suspended' },
        }),
    ],
  ] as [string, (policy: { policyId: string; agentId: string }) => Promise<{ status: number }>][]) {
    it(`a policy that is ${what} while the key set is on its way lets nobody in`, async () => {
      const slow = await startIssuer(t.clock);
      const policy = await policyFor({ jwksUri: slow.jwksUri }, slow);
      const asked = Promise.withResolvers<() => void>();
      slow.answering = (_, response) =>
        asked.resolve(() => response.end(JSON.stringify({ keys: slow.keys.map((key) => key.publicJwk) })));
      const exchanging = exchange(await policy.sign());
      const answer = await asked.promise;
      assert.ok((await change(policy)).status < 300);
      answer();
      assert.equal((await exchanging).status, 400);
    });
  }
  it('of deletions and exchanges at once, nothing is issued after the 204', async () => {
    for (let round = 0; round < 5; round += 1) {
      const policy = await policyFor({ singleUse: false });
      const token = await policy.sign();
      let gone = false;
      const racing = Array.from({ length: 20 }, async () => {
        const late = gone;
        const { status } = await exchange(token, { client_id: policy.agentId });
        return { late, status };
      });
      const path = `${url}/trust-policies/${policy.policyId}`;
      assert.equal((await t.call('DELETE', path, { token: operator })).status, 204);
      gone = true;
      racing.push(
        ...Array.from({ length: 5 }, async () => ({ late: true, status: (await exchange(token)).status })),
      );
      for (const { late, status } of await Promise.all(racing)) if (late) assert.equal(status, 400);
    }
  });
  it('a key that the issuer changed is followed after the cool-down', async () => {
    const turning = await startIssuer(t.clock);
    const policy = await policyFor({ singleUse: false }, turning);
    assert.equal((await exchange(await policy.sign())).status, 200);
    turning.keys = [await makeKey('EdDSA')];
    assert.equal((await refused(await policy.sign())).reason, 'unknown_key');
    t.clock.advance(30_001);
    assert.equal((await exchange(await policy.sign())).status, 200);
    assert.equal(turning.asked['/.well-known/openid-configuration'], 2);
  });
  it('a discovery document that speaks for another issuer is not believed', async () => {
    const lying = await startIssuer(t.clock);
    const policy = await policyFor({}, lying);
    lying.answering = (_, response) =>
      void response.end(JSON.stringify({ issuer: `${lying.url}/`, jwks_uri: lying.jwksUri }));
    assert.equal((await refused(await policy.sign())).reason, 'keys_unavailable');
    assert.equal(lying.asked['/jwks'], undefined);
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
      const policy = await policyFor({ provider: 'github', subject }, own);
      const token = await own.sign({ jti: randomUUID(), ...claims });
      assert.equal((await exchange(token)).status, status);
      const again = await own.sign({ ...claims });
      assert.equal((await exchange(again, { client_id: policy.agentId })).status, status);
    });
  }
});

describe('POST /oidc/trust-policies/{policyId}/test', () => {
  const test = async (policyId: string, token: string) =>
    (await t.call('POST', `${url}/trust-policies/${policyId}/test`, { token: operator, payload: { token } }))
      .json;
  it('200 says of each check what was expected and what was there, and uses nothing up', async () => {
    const policy = await policyFor({ conditions: [{ claim: 'team', operator: 'in', values: ['a', 'b'] }] });
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
  it('200 not matched, with every failing check', async () => {
    const policy = await policyFor({ conditions: [{ claim: 'team', operator: 'equals', values: ['a'] }] });
    const iat = seconds() - 1_000;
    const wrong = await issuer.sign({ sub: 'x', aud: ['y', 'z'], iat }, { key: await makeKey() });
    await patch(policy.policyId, { status: 'disabled' });
    const { matched, checks } = await test(policy.policyId, wrong);
    assert.equal(matched, false);
    const failed = checks.filter(({ ok }: { ok: boolean }) => !ok);
    assert.deepEqual(
      failed.map(({ name, expected, actual }: Record<string, string>) => [name, expected, actual]),
      [
        ['signature', "valid now, signed by the issuer's key", 'unknown_key'],
        ['status', 'active', 'disabled'],
        ['audience', ours, 'y, z'],
        ['subject', policy.subject, 'x'],
        ['condition team equals', 'a', null],
        ['age', 'at most 600 s', `${seconds() - iat} s`],
      ],
    );
    assert.deepEqual(await test(policy.policyId, 'garbage'), {
      matched: false,
      checks: [{ name: 'token', ok: false, expected: 'a signed JWT', actual: 'malformed' }],
      claims: {},
    });
  });
});

describe('the same at POST /token, as a client assertion', () => {
  const assert_ = (client_assertion: string, more: Record<string, string> = {}) =>
    t.askToken({
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion,
      ...more,
    });
  it('200 an access token, with or without client_id; once', async () => {
    const policy = await policyFor();
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
  it('401 invalid_client for a bad one, 403 unauthorized_client for a suspended agent, 400 for a scope', async () => {
    const policy = await policyFor({ singleUse: false });
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
    assert.deepEqual(await answers(token), [403, 'unauthorized_client']);
  });
  it('401 for an agent that vouches for itself by an issuer it invented', async () => {
    const policy = await policyFor();
    const forged = await issuer.sign({ iss: policy.agentId, sub: policy.agentId });
    assert.equal((await assert_(forged, { client_id: policy.agentId })).status, 401);
  });
});

describe('POST /oidc/id-token', () => {
  const ask = (form: Record<string, string>, as = operator) => t.form(`${url}/id-token`, form, as);
  it('200 a token that whoever knows our keys can verify, and that opens nothing here', async () => {
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
      iss: ours,
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
  it('200 for as long as asked, from a minute to an hour', async () => {
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
    ['a negative ttl', { audience: 'x', ttl: '-300' }],
  ] as const) {
    it(`400 VALIDATION_ERROR for ${what}`, async () => {
      const { status, json } = await ask(form as Record<string, string>);
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR']);
    });
  }
  it('leaves one event, and is counted with the exchanges', async () => {
    const counted = async () =>
      Number(/^service_oidc_tokens_issued_total (\d+)/m.exec((await t.call('GET', '/metrics')).text)?.[1]);
    const before = await counted();
    await ask({ audience: 'counted.example' });
    const events = await t.sql<{ action: string }>(
      "select action from audit_events where metadata ->> 'audience' = 'counted.example'",
    );
    assert.deepEqual(events, [{ action: 'id_token.issued' }]);
    assert.equal(await counted(), before + 1);
    await exchange(await (await policyFor()).sign());
    assert.equal(await counted(), before + 2);
  });
});
