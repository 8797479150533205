/** Refresh tokens: rotation, reuse and revocation. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import type { Answer } from '../../../test/support/harness.ts';
import {
  createAuthorizationScenario,
  type TestClient,
} from '../../../test/support/scenarios/authorization.ts';

const scenario = await createAuthorizationScenario();
const { t, operate, organizationId, confidential, publicClient, documentClient } = scenario;
const { refresh, isActive, granted, member, newRequest, consent, exchange } = scenario;

const assertRefused = ({ status, json }: Answer, error = 'invalid_grant') =>
  assert.deepEqual([status, json.error], [400, error], JSON.stringify(json));

const succeed = async (answer: Promise<Answer>): Promise<Record<string, string>> => {
  const { status, json, text } = await answer;
  assert.equal(status, 200, text);
  return json;
};
const tokenOf = (tokens: Record<string, string>) => String(tokens.refresh_token);

const kinds: Record<string, () => Promise<TestClient>> = {
  'a confidential client': confidential,
  'a public client': publicClient,
  'a client with a document': async () => documentClient(),
};

describe('POST /token with refresh_token', () => {
  for (const [kind, make] of Object.entries(kinds))
    it(`${kind} gets a new pair each time, of the same chain`, async () => {
      const client = await make();
      const { tokens } = await granted(client);
      let last = tokens;
      for (let round = 0; round < 3; round += 1) {
        const next = await succeed(refresh(client, tokenOf(last)));
        assert.notEqual(next.refresh_token, last.refresh_token);
        assert.equal(next.scope, tokens.scope);
        assert.equal(
          decodeJwt(String(next.access_token)).chain_id,
          decodeJwt(String(tokens.access_token)).chain_id,
        );
        last = next;
      }
    });

  it('within ten seconds the same token answers with a working pair again; later it ends the chain', async () => {
    const client = await confidential();
    const { tokens } = await granted(client);
    const first = await succeed(refresh(client, tokenOf(tokens)));
    t.clock.advance(9_000);
    const repeated = await succeed(refresh(client, tokenOf(tokens)));
    // Two holders of one refresh token have one successor, so that its second use is found.
    assert.equal(repeated.refresh_token, first.refresh_token);
    assert.equal(await isActive(repeated.access_token), true);
    const next = await succeed(refresh(client, tokenOf(repeated)));
    t.clock.advance(10_001);
    assertRefused(await refresh(client, tokenOf(tokens)));
    assertRefused(await refresh(client, tokenOf(next)));
    assert.equal(await isActive(next.access_token), false);
  });

  it('50 at once have one successor; the thief and the owner lose the chain at its second use', async () => {
    const client = await publicClient();
    const { tokens } = await granted(client);
    const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(client, tokenOf(tokens))));
    for (const { status, text } of answers) assert.equal(status, 200, text);
    const successors = new Set(answers.map(({ json }) => json.refresh_token));
    assert.equal(successors.size, 1);
    const [successor] = successors;
    await succeed(refresh(client, successor));
    t.clock.advance(10_001);
    assertRefused(await refresh(client, successor));
    for (const { json } of answers) assert.equal(await isActive(json.access_token), false);
  });

  it('by another client: invalid_grant as for an unknown token, and it ends nothing', async () => {
    const [client, other] = [await confidential(), await confidential()];
    const { tokens } = await granted(client);
    const stolen = await refresh(other, tokenOf(tokens));
    const unknown = await refresh(other, `csr_${randomBytes(32).toString('base64url')}`);
    assertRefused(stolen);
    assert.deepEqual(stolen.json, unknown.json);
    assert.deepEqual((await refresh(documentClient(), tokenOf(tokens))).json, unknown.json);
    const next = await succeed(refresh(client, tokenOf(tokens)));
    t.clock.advance(10_001);
    assertRefused(await refresh(other, tokenOf(tokens)));
    await succeed(refresh(client, tokenOf(next)));
  });

  it('a narrower scope for this token only; a wider one is invalid_scope', async () => {
    const client = await confidential();
    const { tokens } = await granted(client, { scope: 'orders:read orders:write' });
    const narrow = await succeed(refresh(client, tokenOf(tokens), { scope: 'orders:read' }));
    assert.equal(narrow.scope, 'orders:read');
    const full = await succeed(refresh(client, tokenOf(narrow)));
    assert.equal(full.scope, 'orders:read orders:write');
    assertRefused(await refresh(client, tokenOf(full), { scope: 'refund' }), 'invalid_scope');
    const other = await scenario.makeResource();
    assertRefused(await refresh(client, tokenOf(full), { resource: other.identifier }), 'invalid_target');
    // A refusal uses nothing up, also later.
    t.clock.advance(10_001);
    await succeed(refresh(client, tokenOf(full)));
  });

  it('a code that asked for less than its chain gives tokens for that only', async () => {
    const client = await confidential();
    const { browser } = await granted(client, { scope: 'orders:read orders:write' });
    const less = newRequest(client, { scope: 'orders:read' });
    const answer = await browser.request(less.url, { headers: { 'sec-fetch-site': 'none' } });
    const { code } = scenario.answerIn(answer.location);
    const tokens = await succeed(exchange(less, String(code)));
    assert.equal(tokens.scope, 'orders:read');
    assert.equal((await succeed(refresh(client, tokenOf(tokens)))).scope, 'orders:read');
  });

  it('nothing after a suspension of the person, for good; and nothing after that of the client', async () => {
    const client = await confidential();
    const { tokens, personId } = await granted(client);
    const url = `/organizations/${organizationId}/people/${personId}`;
    await operate('PATCH', url, { status: 'suspended' });
    assertRefused(await refresh(client, tokenOf(tokens)));
    await operate('PATCH', url, { status: 'active' });
    assertRefused(await refresh(client, tokenOf(tokens)));
    const second = await granted(client);
    await operate('PATCH', `/agents/${client.agentId}`, { status: 'suspended' });
    await operate('PATCH', `/agents/${client.agentId}`, { status: 'active' });
    assertRefused(await refresh(client, tokenOf(second.tokens)));
  });

  it('ends with the chain', async () => {
    const client = await confidential();
    const { browser } = await member();
    const request = newRequest(client);
    const code = await consent(browser, request, { decision: 'approve', expiresIn: 60 });
    const tokens = await succeed(exchange(request, code));
    assert.ok(Number(tokens.expires_in) <= 60);
    t.clock.advance(60_001);
    assertRefused(await refresh(client, tokenOf(tokens)));
  });

  it('400 invalid_request without a token', async () => {
    assertRefused(await refresh(await confidential(), ''), 'invalid_request');
  });
});

describe('POST /token/revoke with a refresh token', () => {
  const revoke = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
    t.call('POST', '/api/v1/token/revoke', {
      payload: new URLSearchParams(fields).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    });

  for (const [kind, make] of Object.entries(kinds))
    it(`200 from ${kind}: the chain ends`, async () => {
      const client = await make();
      const { tokens } = await granted(client);
      const { status, json } = await revoke({ token: tokenOf(tokens), ...client.credentials });
      assert.deepEqual([status, json], [200, {}]);
      assert.equal(await isActive(tokens.access_token), false);
      assertRefused(await refresh(client, tokenOf(tokens)));
    });

  it('200 by HTTP Basic', async () => {
    const client = await confidential();
    const { tokens } = await granted(client);
    const basic = Buffer.from(`${client.clientId}:${client.credentials.client_secret}`).toString('base64');
    const { status } = await revoke({ token: tokenOf(tokens) }, { authorization: `Basic ${basic}` });
    assert.deepEqual([status, await isActive(tokens.access_token)], [200, false]);
  });

  it('200 and nothing ends for an unknown token, and for one of another client', async () => {
    const [client, other] = [await confidential(), await publicClient()];
    const { tokens } = await granted(client);
    for (const token of [tokenOf(tokens), `csr_${randomBytes(32).toString('base64url')}`, 'garbage'])
      for (const credentials of [
        other.credentials,
        documentClient().credentials,
        (await confidential()).credentials,
      ]) {
        const { status, json } = await revoke({ token, ...credentials });
        assert.deepEqual([status, json], [200, {}]);
      }
    assert.equal(await isActive(tokens.access_token), true);
  });

  it('401 for a confidential client without its secret, with a wrong one, and without any client', async () => {
    const client = await confidential();
    const { tokens } = await granted(client);
    const token = tokenOf(tokens);
    for (const fields of [
      {},
      { client_id: client.clientId },
      { client_id: client.clientId, client_secret: 'x' },
    ]) {
      const { status, json } = await revoke({ token, ...fields } as Record<string, string>);
      assert.deepEqual([status, json.code], [401, 'UNAUTHORIZED']);
    }
    assert.equal(await isActive(tokens.access_token), true);
  });
});
