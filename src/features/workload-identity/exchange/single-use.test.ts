import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { startApp, startOfMinute } from '../../../../test/support/harness.ts';
import { makeKey, startIssuer } from '../../../../test/support/peers/issuers.ts';
import { until } from '../../../../test/support/programs.ts';
import { createTrustClient, ownAudience } from '../../../../test/support/scenarios/trust.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
const { operator, createPolicy, exchange, lastRefusal, patch, refused } = await createTrustClient(t);
const url = '/api/v1/oidc';

describe('single use', () => {
  it('exactly one of 100 concurrent redemptions succeeds', async () => {
    const policy = await createPolicy();
    const token = await policy.sign();
    const answers = await Promise.all(Array.from({ length: 100 }, () => exchange(token)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    assert.equal(
      answers.filter(({ status, json }) => status === 400 && json.error === 'invalid_grant').length,
      99,
    );
    assert.equal((await lastRefusal()).reason, 'the token was used before');
  });
  it('a token without jti is identified by its signed content, in every encoding of its signature', async () => {
    const policy = await createPolicy();
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
  it('applies across policies and agents: one token never becomes two agents', async () => {
    const first = await createPolicy();
    const second = await createPolicy({ subject: first.subject });
    const token = await first.sign();
    assert.equal((await exchange(token, { client_id: first.agentId })).status, 200);
    assert.equal((await refused(token, { client_id: second.agentId })).reason, 'the token was used before');
  });
  it('applies across URLs of the same key set, changed ones included; the test route reports it, too', async () => {
    const own = await startIssuer(t.clock);
    const byDiscovery = await createPolicy({}, own);
    const { subject, agentId } = byDiscovery;
    const token = await byDiscovery.sign();
    assert.equal((await exchange(token)).status, 200);
    const byAddress = await createPolicy({ subject, agentId, jwksUri: own.jwksUri }, own);
    await patch(byDiscovery.policyId, { status: 'disabled' });
    assert.equal((await refused(token)).reason, 'the token was used before');
    await patch(byAddress.policyId, { jwksUri: `${own.jwksUri}?again` });
    own.handlerOverride = (_, response) =>
      void response.end(JSON.stringify({ keys: own.keys.map(({ publicJwk }) => publicJwk) }));
    assert.equal((await refused(token)).reason, 'the token was used before');
    const { json } = await t.call('POST', `${url}/trust-policies/${byAddress.policyId}/test`, {
      token: operator,
      payload: { token },
    });
    const failing = json.checks.filter(({ ok }: { ok: boolean }) => !ok);
    assert.deepEqual(
      failing.map(({ name }: { name: string }) => name),
      ['single use'],
    );
    // The refusals left no record, so another token of the same policies is accepted.
    assert.equal((await exchange(await byDiscovery.sign())).status, 200);
  });
  it('exactly one of concurrent redemptions by two URLs of the same key set succeeds', async () => {
    const own = await startIssuer(t.clock);
    const first = await createPolicy({}, own);
    const second = await createPolicy({ subject: first.subject, jwksUri: own.jwksUri }, own);
    for (let round = 0; round < 5; round += 1) {
      const token = await first.sign();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, count) =>
          exchange(token, { client_id: [first, second][count % 2]?.agentId }),
        ),
      );
      assert.equal(answers.filter(({ status }) => status === 200).length, 1);
      assert.equal(answers.filter(({ status }) => status === 400).length, 19);
    }
  });
  it('does not apply when the policy has singleUse false; records of use are purged after the token expires', async () => {
    const policy = await createPolicy({ singleUse: false });
    const token = await policy.sign();
    assert.deepEqual([(await exchange(token)).status, (await exchange(token)).status], [200, 200]);
    const used = async () => (await t.sql('select 1 from used_outside_tokens')).length;
    assert.ok((await used()) > 0);
    t.clock.advance(90_000_000);
    const loop = t.app.loops;
    loop.start();
    await until('the records are gone', async () => (await used()) === 0 || undefined);
    await loop.stop();
    t.clock.advance(-90_000_000);
  });
});

describe('plan limits', () => {
  it("403 unauthorized_client when the client's tokens of the month are used up; exchanges are counted in its usage", async () => {
    const { json } = await t.call('POST', '/api/v1/organizations', {
      token: operator,
      payload: { name: 'Small', slug: `small-${randomUUID().slice(0, 8)}`, maxTokensPerMonth: 2 },
    });
    const { organizationId } = json;
    const client = await t.agent({ organization_id: organizationId, allowedScopes: [] });
    const policy = await createPolicy({ agentId: client.agentId, scopes: [] });
    const bearer = await t.token(undefined, client);
    assert.equal((await exchange(await policy.sign())).status, 200);
    const token = await policy.sign();
    const over = await exchange(token);
    assert.deepEqual([over.status, over.json.error], [403, 'unauthorized_client'], over.text);
    assert.match((await lastRefusal()).reason, /tokens_per_month/);
    // The refusal did not use the token up.
    await t.call('PATCH', `/api/v1/organizations/${organizationId}`, {
      token: operator,
      payload: { maxTokensPerMonth: 3 },
    });
    assert.equal((await exchange(token)).status, 200);
    const usage = await t.call('GET', '/api/v1/usage', { token: bearer });
    assert.equal(usage.json.totals.token_exchanges, 2);
  });
});

describe('the rate window', () => {
  it('429 for the address that presents refused tokens; the client with a valid token is not limited', async () => {
    const few = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true', RATE_LIMIT_PER_MINUTE: '8' });
    const own = await startIssuer(few.clock);
    const bearer = await few.token();
    const client = await few.agent({ allowedScopes: [] });
    const payload = {
      ...{ agentId: client.agentId, name: 'Pipeline', provider: 'custom', issuer: own.url },
      ...{ audiences: [ownAudience], subject: 'workload-1', scopes: [] },
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
    startOfMinute(few.clock);
    const token = await own.sign();
    assert.equal((await bring(token, '192.0.2.1')).status, 200);
    const replays = [];
    for (let count = 0; count < 9; count += 1) replays.push((await bring(token, '192.0.2.2')).status);
    assert.deepEqual(replays, [...Array(8).fill(400), 429]);
    for (const [address, left] of [
      ['192.0.2.2', '6'],
      ['192.0.2.1', '5'],
    ] as const) {
      const { status, headers } = await bring(await own.sign(), address);
      assert.deepEqual([status, headers['x-ratelimit-remaining']], [200, left]);
    }
  });
});

describe('changes take effect at once', () => {
  it('400 by a policy that is disabled, changed or deleted', async () => {
    const policy = await createPolicy({ singleUse: false });
    const token = await policy.sign();
    assert.equal((await exchange(token)).status, 200);
    await patch(policy.policyId, { status: 'disabled' });
    assert.match((await refused(token)).reason, /no trust policy/);
    assert.match((await refused(token, { client_id: policy.agentId })).reason, /status/);
    await patch(policy.policyId, { status: 'active', audiences: ['https://other.example'] });
    assert.match((await refused(token, { client_id: policy.agentId })).reason, /audience/);
    await patch(policy.policyId, { audiences: [ownAudience] });
    assert.equal((await exchange(token)).status, 200);
    await t.call('DELETE', `${url}/trust-policies/${policy.policyId}`, { token: operator });
    assert.match((await refused(token)).reason, /no trust policy/);
  });
  it('400 for an agent that is suspended, decommissioned or of a suspended organization', async () => {
    const organization = await t.call('POST', '/api/v1/organizations', {
      token: operator,
      payload: { name: 'Other', slug: `other-${randomUUID().slice(0, 8)}` },
    });
    const { organizationId } = organization.json;
    const { agentId } = await t.agent({ organization_id: organizationId, allowedScopes: ['agents:read'] });
    const policy = await createPolicy({ agentId, scopes: ['agents:read'], singleUse: false });
    const token = await policy.sign();
    const { access_token } = (await exchange(token)).json;
    const set = (path: string, status: string) =>
      t.call('PATCH', `/api/v1/${path}`, { token: operator, payload: { status } });
    const named = { client_id: agentId };
    await set(`organizations/${organizationId}`, 'suspended');
    assert.match((await refused(token, named)).reason, /organization is suspended/);
    assert.match((await refused(token)).reason, /no trust policy/);
    await set(`organizations/${organizationId}`, 'active');
    assert.equal((await exchange(token)).status, 200);
    await set(`agents/${agentId}`, 'suspended');
    assert.match((await refused(token, named)).reason, /agent is suspended/);
    assert.match((await refused(token)).reason, /no trust policy/);
    assert.equal((await t.call('GET', '/api/v1/agents', { token: access_token })).status, 401);
    await set(`agents/${agentId}`, 'active');
    assert.equal((await exchange(token)).status, 200);
    await t.call('DELETE', `/api/v1/agents/${agentId}`, { token: operator });
    assert.match((await refused(token, named)).reason, /agent is decommissioned/);
    assert.match((await refused(token)).reason, /no trust policy/);
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
    it(`400 by a policy that is ${what} while its key set is being fetched`, async () => {
      const slow = await startIssuer(t.clock);
      const policy = await createPolicy({ jwksUri: slow.jwksUri }, slow);
      const requested = Promise.withResolvers<() => void>();
      slow.handlerOverride = (_, response) =>
        requested.resolve(() =>
          response.end(JSON.stringify({ keys: slow.keys.map((key) => key.publicJwk) })),
        );
      const exchanging = exchange(await policy.sign());
      const answer = await requested.promise;
      assert.ok((await change(policy)).status < 300);
      answer();
      assert.equal((await exchanging).status, 400);
    });
  }
  it('no token is issued after the 204 of a concurrent deletion', async () => {
    for (let round = 0; round < 5; round += 1) {
      const policy = await createPolicy({ singleUse: false });
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
  it('200 although another policy, with other keys for that issuer, has used a token with the same jti', async () => {
    const genuine = await startIssuer(t.clock);
    const policy = await createPolicy({}, genuine);
    const forger = await startIssuer(t.clock);
    const forged = await createPolicy({ jwksUri: forger.jwksUri, subject: 'forged-workload' }, genuine);
    const token = await forger.sign({ iss: genuine.url, sub: 'forged-workload', jti: 'run-1001' });
    assert.equal((await exchange(token, { client_id: forged.agentId })).status, 200);
    assert.equal(
      (await exchange(await policy.sign({ jti: 'run-1001' }), { client_id: policy.agentId })).status,
      200,
    );
  });
  it('200 with a rotated key of the issuer after the refetch cool-down', async () => {
    const rotating = await startIssuer(t.clock);
    const policy = await createPolicy({ singleUse: false }, rotating);
    assert.equal((await exchange(await policy.sign())).status, 200);
    rotating.keys = [await makeKey('EdDSA')];
    assert.equal((await refused(await policy.sign())).reason, 'unknown_key');
    t.clock.advance(30_001);
    assert.equal((await exchange(await policy.sign())).status, 200);
    assert.equal(rotating.requestCounts['/.well-known/openid-configuration'], 2);
  });
  it('400 when the discovery document names another issuer', async () => {
    const lying = await startIssuer(t.clock);
    const policy = await createPolicy({}, lying);
    lying.handlerOverride = (_, response) =>
      void response.end(JSON.stringify({ issuer: `${lying.url}/`, jwks_uri: lying.jwksUri }));
    assert.equal((await refused(await policy.sign())).reason, 'keys_unavailable');
    assert.equal(lying.requestCounts['/jwks'], undefined);
  });
});
