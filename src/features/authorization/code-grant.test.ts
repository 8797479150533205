/** Authorization codes at the token endpoint. */
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import type { Answer } from '../../../test/support/harness.ts';
import {
  createAuthorizationScenario,
  redirectUri,
  type TestClient,
} from '../../../test/support/scenarios/authorization.ts';
import { createTrustClient } from '../../../test/support/scenarios/trust.ts';

// For the trust policy, whose issuer has no TLS.
const scenario = await createAuthorizationScenario({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
const { t, operate, organizationId, resource, confidential, publicClient, documentClient } = scenario;
const { member, newRequest, consent, exchange, refresh, isActive, granted } = scenario;

const assertRefused = ({ status, json }: Answer, error = 'invalid_grant') =>
  assert.deepEqual(
    [status, json.error],
    [error === 'invalid_client' ? 401 : 400, error],
    JSON.stringify(json),
  );

const newCode = async (client: TestClient) => {
  const { browser, personId } = await member();
  const request = newRequest(client);
  return { request, personId, code: await consent(browser, request) };
};

const isRevoked = async (agentId: string | undefined): Promise<boolean[]> =>
  (
    await t.sql<{ revoked: boolean }>(
      'select revoked_at is not null as revoked from delegations where delegatee_id = $1',
      [agentId],
    )
  ).map(({ revoked }) => revoked);

describe('POST /token with authorization_code', () => {
  it('a code is stored as a hash, and the refresh token too', async () => {
    const client = await confidential();
    const { request, code } = await newCode(client);
    const { json } = await exchange(request, code);
    const [rows] = await t.sql<{ text: string }>(
      'select (select json_agg(c)::text from authorization_codes c) || (select json_agg(r)::text from refresh_tokens r) as text',
    );
    assert.ok(!rows?.text.includes(code) && !rows?.text.includes(json.refresh_token));
    assert.match(code, /^[\w-]{43}$/);
    assert.match(json.refresh_token, /^csr_[\w-]{43}$/);
  });

  it('the token lives as long as the resource says, and never longer than the chain, which lasts 30 days by default', async () => {
    const client = await confidential();
    const brief = await scenario.makeResource({ tokenLifetimeSeconds: 120 });
    const lifetimes = async (audience: string, more: object) => {
      const { browser } = await member();
      const request = newRequest(client, { resource: audience });
      const code = await consent(browser, request, { decision: 'approve', ...more });
      const { json } = await exchange(request, code);
      const { iat = 0, exp = 0, chain_id } = decodeJwt(json.access_token);
      const [chain] = await t.sql<{ seconds: number }>(
        'select extract(epoch from expires_at - created_at)::int as seconds from delegations where chain_id = $1',
        [chain_id],
      );
      assert.equal(json.expires_in, exp - iat);
      return [exp - iat, chain?.seconds];
    };
    assert.deepEqual(await lifetimes(resource.identifier, {}), [3_600, 2_592_000]);
    assert.deepEqual(await lifetimes(brief.identifier, {}), [120, 2_592_000]);
    const [token = 0, chain] = await lifetimes(resource.identifier, { expiresIn: 60 });
    assert.ok(token > 0 && token <= 60, String(token));
    assert.equal(chain, 60);
  });

  it('400 invalid_grant for the second use, which ends the chain', async () => {
    const client = await confidential();
    const { request, code } = await newCode(client);
    const first = await exchange(request, code);
    assert.equal(first.status, 200, first.text);
    assertRefused(await exchange(request, code));
    assert.equal(await isActive(first.json.access_token), false);
    assertRefused(await refresh(client, first.json.refresh_token));
    assert.deepEqual(await isRevoked(client.agentId), [true]);
    const events = await t.sql<{ metadata: { reason: string } }>(
      "select metadata from audit_events where action = 'consent.revoked' and agent_id = $1",
      [client.agentId],
    );
    assert.deepEqual(
      events.map(({ metadata }) => metadata.reason),
      ['code used twice'],
    );
  });

  it('one of 50 at once', async () => {
    const client = await confidential();
    const { request, code } = await newCode(client);
    const answers = await Promise.all(Array.from({ length: 50 }, () => exchange(request, code)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    for (const answer of answers) if (answer.status !== 200) assertRefused(answer);
    assert.deepEqual(await isRevoked(client.agentId), [true]);
  });

  it('400 invalid_grant after 60 seconds', async () => {
    const client = await confidential();
    const late = await newCode(client);
    t.clock.advance(60_001);
    assertRefused(await exchange(late.request, late.code));
    assert.deepEqual(await isRevoked(client.agentId), [false]);
    const early = await newCode(client);
    t.clock.advance(59_000);
    assert.equal((await exchange(early.request, early.code)).status, 200);
  });

  it('400 invalid_grant for another client, the same as for an unknown code; it uses nothing up', async () => {
    const clients = [await confidential(), await publicClient()];
    const [one, other] = clients as [TestClient, TestClient];
    const { request, code } = await newCode(one);
    const stolen = await exchange({ ...request, client: other }, code);
    const unknown = await exchange({ ...request, client: other }, randomBytes(32).toString('base64url'));
    assertRefused(stolen);
    assert.deepEqual(stolen.json, unknown.json);
    const address = documentClient();
    const named = await exchange({ ...request, client: address }, code);
    assert.deepEqual(named.json, unknown.json);
    assert.equal((await exchange(request, code)).status, 200);
  });

  it('400 invalid_grant for a wrong verifier, which uses the code up', async () => {
    const client = await confidential();
    for (const verifier of [
      randomBytes(32).toString('base64url'),
      'short',
      'ü'.repeat(43),
      'a'.repeat(129),
    ]) {
      const { request, code } = await newCode(client);
      assertRefused(await exchange({ ...request, verifier }, code));
      assertRefused(await exchange(request, code));
    }
  });

  it('400 invalid_grant for another redirect URI or none, and for another resource', async () => {
    const client = await confidential({ redirectUris: [redirectUri, 'https://app.example/other'] });
    const { request, code } = await newCode(client);
    assertRefused(await exchange(request, code, { redirect_uri: 'https://app.example/other' }));
    assertRefused(
      await exchange({ ...request, client: { ...client, redirectUri: '' } }, code, { redirect_uri: '' }),
    );
    const { verifier: code_verifier } = request;
    const without = { grant_type: 'authorization_code', code, code_verifier, ...client.credentials };
    assertRefused(await t.askToken(without));
    const other = await scenario.makeResource();
    assertRefused(await exchange(request, code, { resource: other.identifier }));
    const { status } = await exchange(request, code, { resource: resource.identifier });
    assert.equal(status, 200);
  });

  it('400 invalid_request without a code or a verifier, and for repeated fields', async () => {
    const client = await confidential();
    const { request, code } = await newCode(client);
    assertRefused(await exchange(request, ''), 'invalid_request');
    assertRefused(await exchange({ ...request, verifier: '' }, code), 'invalid_request');
    const fields = new URLSearchParams({ grant_type: 'authorization_code', ...client.credentials });
    const repeated = await t.call('POST', '/api/v1/token', {
      payload: `${fields}&code=${code}&code=${code}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    assertRefused(repeated, 'invalid_request');
    assert.equal((await exchange(request, code)).status, 200);
  });

  it('401 invalid_client for a confidential client without its secret, and for a wrong one', async () => {
    const client = await confidential();
    const { request, code } = await newCode(client);
    const bare = { ...client, credentials: { client_id: client.clientId } };
    assertRefused(await exchange({ ...request, client: bare }, code), 'invalid_client');
    const wrong = { ...client, credentials: { client_id: client.clientId, client_secret: 'wrong' } };
    assertRefused(await exchange({ ...request, client: wrong }, code), 'invalid_client');
    assert.equal((await exchange(request, code)).status, 200);
  });

  it('nothing after the person or the client was suspended', async () => {
    const client = await confidential();
    const one = await newCode(client);
    await operate('PATCH', `/organizations/${organizationId}/people/${one.personId}`, {
      status: 'suspended',
    });
    assertRefused(await exchange(one.request, one.code));
    const two = await newCode(client);
    await operate('PATCH', `/agents/${client.agentId}`, { status: 'suspended' });
    const answer = await exchange(two.request, two.code);
    assert.deepEqual([answer.status, answer.json.error], [403, 'unauthorized_client']);
  });

  it('the tokens carry less when the person may lend less than was consented to', async () => {
    const narrowed = await scenario.makeResource();
    const client = await confidential();
    const { browser } = await member();
    const request = newRequest(client, { resource: narrowed.identifier });
    const code = await consent(browser, request);
    await operate('PATCH', `/resources/${narrowed.resourceId}`, { peopleScopes: ['orders:read'] });
    const { json } = await exchange(request, code);
    assert.equal(json.scope, 'orders:read');
  });
});

describe('a client that authenticates by a trust policy', () => {
  it('gets tokens; the second use of the code ends the chain here too', async () => {
    const { createPolicy } = await createTrustClient(t);
    const registered = await confidential();
    const { sign } = await createPolicy({ agentId: registered.agentId });
    const client = { ...registered, credentials: {} };
    const { request, code } = await newCode(client);
    const proof = async () => ({
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await sign({ jti: randomUUID() }),
    });
    const first = await exchange(request, code, await proof());
    assert.equal(first.status, 200, first.text);
    const refreshed = await refresh(client, first.json.refresh_token, await proof());
    assert.equal(refreshed.status, 200, refreshed.text);
    assertRefused(await exchange(request, code, await proof()));
    assert.deepEqual(await isRevoked(client.agentId), [true]);
    assertRefused(await refresh(client, refreshed.json.refresh_token, await proof()));
  });
});

describe('public clients at the token endpoint', () => {
  it('keep the answers of other grants: no client without a proof', async () => {
    const client = await publicClient();
    const own = await t.askToken({ grant_type: 'client_credentials', ...client.credentials });
    assert.deepEqual(own.json, {
      error: 'unsupported_grant_type',
      error_description: 'client_secret is required, in the body or by HTTP Basic',
    });
    const exchanged = await t.askToken({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      ...client.credentials,
    });
    assert.deepEqual([exchanged.status, exchanged.json.error], [401, 'invalid_client']);
  });

  it('an empty secret counts as none', async () => {
    const client = await publicClient();
    const { request, code } = await newCode(client);
    assert.equal((await exchange(request, code, { client_secret: '' })).status, 200);
  });
});

describe('the purge', () => {
  it('deletes requests whose time is over at once, and codes after a day', async () => {
    const client = await confidential();
    await granted(client);
    const rows = async () =>
      (
        await t.sql<{ requests: string; codes: string }>(
          'select (select count(*) from authorization_requests) as requests, (select count(*) from authorization_codes) as codes',
        )
      )[0];
    const run = async () => {
      const loop = t.app.authorization.loops[0];
      assert.ok(loop);
      await loop.run(new AbortController().signal);
    };
    t.clock.advance(600_001);
    await run();
    const after = await rows();
    assert.equal(Number(after?.requests), 0);
    assert.ok(Number(after?.codes) > 0);
    t.clock.advance(86_400_000);
    await run();
    assert.equal(Number((await rows())?.codes), 0);
  });
});
