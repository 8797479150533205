/** Tokens that are bound to a key, with a real server and real frameworks: client and verifier of this SDK. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import { createClient, createDpop, createVerifier } from '../src/sdk.ts';
import { type Agent, refusedWith, startOrders } from './orders.ts';
import { call, frameworks, newAddress } from './protected-apis.ts';

const { t, issuer, organizationId, register, buyerOf, clientOf } = await startOrders();
const base = { issuer, organizationId, subjects: 'agents', revocation: 'none' } as const;
const boundClientOf = ({ clientId, clientSecret }: Agent, resources: readonly string[] = []) =>
  createClient({ issuer, clientId, auth: clientSecret, resources, dpop: true });
const jktOf = (token: string) => (decodeJwt(token).cnf as { jkt?: string } | undefined)?.jkt;

for (const [name, start] of Object.entries(frameworks))
  describe(`${name} with DPoP`, async () => {
    const address = await newAddress();
    const resourceId = await register(address);
    const verifier = createVerifier({ ...base, audience: address, proofs: { requireContentDigest: true } });
    await start(address, verifier);
    const buyer = await buyerOf(resourceId);
    const client = boundClientOf(buyer, [address]);

    it('200 with proofs: the path below a router, and the digest of the body', async () => {
      const read = await client.fetch(`${address}/orders?page=1`);
      assert.deepEqual([read.status, await read.json()], [200, { agentId: buyer.agentId }]);
      const written = await client.fetch(`${address}/orders`, call);
      const text = await written.text();
      assert.equal(written.status, 200, text);
      assert.ok(text.includes(buyer.agentId), text);
    });

    it('401 for a stolen token: as Bearer, without a proof, with the proof of another key, address or body', async () => {
      const token = await client.token({ resource: address });
      const thief = createDpop();
      const authorization = `DPoP ${token}`;
      const url = `${address}/orders`;
      const good = { method: 'POST', url, accessToken: token, body: call.body };
      for (const [reason, headers] of Object.entries({
        bearer: { authorization: `Bearer ${token}` },
        none: { authorization },
        thief: { authorization, dpop: await thief.prove(good) },
        address: {
          authorization,
          dpop: (await client.dpop?.prove({ ...good, url: `${address}/other` })) ?? '',
        },
        body: { authorization, dpop: (await client.dpop?.prove({ ...good, body: '{}' })) ?? '' },
        'no digest': { authorization, dpop: (await client.dpop?.prove({ ...good, body: undefined })) ?? '' },
      })) {
        const answer = await fetch(url, { ...call, headers: { ...call.headers, ...headers } });
        assert.equal(answer.status, 401, `${reason}: ${await answer.text()}`);
        const challenge = String(answer.headers.get('www-authenticate'));
        assert.match(challenge, /^DPoP error="invalid_(token|dpop_proof)", .*algs="ES256 /, reason);
      }
      const headers = { ...call.headers, authorization, dpop: (await client.dpop?.prove(good)) ?? '' };
      assert.equal((await fetch(url, { ...call, headers })).status, 200);
      assert.equal((await fetch(url, { ...call, headers })).status, 401, 'replay');
    });

    it('200 for a token that is not bound', async () => {
      assert.equal((await clientOf(buyer, [address]).fetch(`${address}/orders`)).status, 200);
    });
  });

describe('the client with DPoP', () => {
  it('calls the API of Countersign, and redeems delegations, with one key', async () => {
    const address = await newAddress();
    const verifier = createVerifier({ ...base, audience: address });
    const buyer = await buyerOf(await register(address));
    const client = boundClientOf(buyer);
    const thumbprint = await client.dpop?.thumbprint();
    assert.equal((await client.api.getAgent({ agentId: buyer.agentId })).agentId, buyer.agentId);
    const own = await client.token({ resource: address });
    assert.equal(jktOf(own), thumbprint);
    await assert.rejects(verifier.verify(own), refusedWith(401, 'invalid_token', /bound to a key/));
    const helper = await t.agent({ allowedScopes: ['agents:read'] });
    const { delegationToken } = await client.delegate({
      delegateeId: helper.agentId,
      scopes: ['orders:read'],
      resource: [address],
    });
    const acting = boundClientOf(helper).redeem(delegationToken);
    assert.equal(jktOf(await acting.token({ resource: address })), await acting.dpop?.thumbprint());
    assert.notEqual(await acting.dpop?.thumbprint(), thumbprint);
  });

  it('gets the nonce that a server with DPOP_REQUIRE_NONCE demands', async () => {
    const strict = await startOrders({ DPOP_REQUIRE_NONCE: 'true' });
    const { clientId, clientSecret } = await strict.t.agent({ allowedScopes: ['agents:read'] });
    const client = createClient({ issuer: strict.issuer, clientId, auth: clientSecret, dpop: true });
    assert.equal((await client.api.getAgent({ agentId: clientId })).agentId, clientId);
  });

  it('400 invalid_dpop_proof without it, for an agent that demands it', async () => {
    const agent = await t.agent({ allowedScopes: ['agents:read'], dpopBoundAccessTokens: true });
    await assert.rejects(clientOf(agent).token(), { name: 'ApiError', code: 'invalid_dpop_proof' });
    assert.ok(jktOf(await boundClientOf(agent).token()));
  });
});
