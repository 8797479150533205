/** Proofs of possession by independent clients, which learn everything from our metadata. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as oauth from 'oauth4webapi';
import * as client from 'openid-client';
import { clientOf, type Listening, listen, listenForPeople } from '../support/clients/listening.ts';

// Loopback only; a real instance is reached over TLS.
const insecure = { [oauth.allowInsecureRequests]: true };

async function withOauth4webapi(t: Listening) {
  const agent = await clientOf(t);
  const issuer = new URL(t.issuer);
  const server = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
  );
  const self: oauth.Client = { client_id: agent.clientId };
  const auth = oauth.ClientSecretBasic(agent.clientSecret);
  const keys = await oauth.generateKeyPair('ES256');
  const DPoP = oauth.DPoP(self, keys);
  const ask = async () =>
    oauth.processClientCredentialsResponse(
      server,
      self,
      await oauth.clientCredentialsGrantRequest(server, self, auth, {}, { DPoP, ...insecure }),
    );
  const list = (token: string) =>
    oauth.protectedResourceRequest(
      token,
      'GET',
      new URL('/api/v1/agents?limit=1', t.issuer),
      new Headers(),
      null,
      { DPoP, ...insecure },
    );
  return { server, ask, list, DPoP };
}

/** These clients repeat a request when they get `use_dpop_nonce`. */
async function retried<T>(work: () => Promise<T>): Promise<{ result: T; tries: number }> {
  try {
    return { result: await work(), tries: 1 };
  } catch (error) {
    if (!oauth.isDPoPNonceError(error)) throw error;
    return { result: await work(), tries: 2 };
  }
}

describe('oauth4webapi', () => {
  for (const [what, settings, tries] of [
    ['without nonces', {}, 1],
    ['with required nonces', { DPOP_REQUIRE_NONCE: 'true' }, 2],
  ] as const)
    it(`gets a bound token and uses it, ${what}; its own resource server accepts it`, async () => {
      const t = await listen(settings);
      const { server, ask, list } = await withOauth4webapi(t);
      assert.ok(server.dpop_signing_alg_values_supported?.includes('ES256'));
      const asked = await retried(ask);
      assert.deepEqual([asked.result.token_type, asked.tries], ['dpop', tries]);
      const token = asked.result.access_token;
      // It has the nonce of the token endpoint, which is the same origin.
      assert.equal((await list(token)).status, 200);
      assert.equal((await t.call('GET', '/api/v1/agents', { token })).status, 401);
      const keys = await oauth.generateKeyPair('ES256');
      const stolen = oauth.DPoP({}, keys);
      const url = new URL('/api/v1/agents', t.issuer);
      const theft = () =>
        oauth.protectedResourceRequest(token, 'GET', url, new Headers(), null, { DPoP: stolen, ...insecure });
      await assert.rejects(theft, (error) => {
        assert.ok(error instanceof oauth.WWWAuthenticateChallengeError);
        assert.equal(error.status, 401);
        const [challenge] = error.cause;
        assert.deepEqual([challenge?.scheme, challenge?.parameters.error], ['dpop', 'invalid_dpop_proof']);
        return true;
      });
    });

  it('validates our bound tokens as a resource server', async () => {
    const t = await listen();
    const { server, ask, DPoP } = await withOauth4webapi(t);
    const { access_token } = await ask();
    let request: Request | undefined;
    await oauth.protectedResourceRequest(
      access_token,
      'GET',
      new URL('/orders', t.issuer),
      new Headers(),
      null,
      {
        DPoP,
        ...insecure,
        [oauth.customFetch]: async (url, { headers }) => {
          request = new Request(url, { headers });
          return new Response();
        },
      },
    );
    const validate = (received: Request) =>
      oauth.validateJwtAccessToken(server, received, t.issuer, insecure);
    const { cnf } = await validate(request as Request);
    assert.equal(cnf?.jkt, await DPoP.calculateThumbprint());
    await assert.rejects(
      validate(new Request(t.issuer, { headers: { authorization: `Bearer ${access_token}` } })),
    );
  });
});

describe('openid-client', () => {
  for (const alg of ['ES256', 'Ed25519', 'PS256'])
    it(`gets a bound token and uses it with ${alg}, also when nonces are required`, async () => {
      const t = await listen({ DPOP_REQUIRE_NONCE: 'true' });
      const agent = await clientOf(t);
      const config = await client.discovery(
        new URL(t.issuer),
        agent.clientId,
        undefined,
        client.ClientSecretPost(agent.clientSecret),
        { algorithm: 'oauth2', execute: [client.allowInsecureRequests] },
      );
      const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair(alg));
      const tokens = await client.clientCredentialsGrant(config, {}, { DPoP });
      assert.equal(tokens.token_type, 'dpop');
      const url = new URL('/api/v1/agents', t.issuer);
      const response = await client.fetchProtectedResource(
        config,
        tokens.access_token,
        url,
        'GET',
        null,
        undefined,
        { DPoP },
      );
      assert.equal(response.status, 200);
      const { token_type, cnf } = await client.tokenIntrospection(config, tokens.access_token);
      assert.deepEqual(
        [token_type, (cnf as { jkt: string }).jkt],
        ['DPoP', await DPoP.calculateThumbprint()],
      );
    });

  it('a public client binds its code by dpop_jkt, and its refresh tokens', async () => {
    const { issuer, publicClient, member, agree, resource } = await listenForPeople();
    const { browser } = await member();
    const app = await publicClient();
    const config = await client.discovery(new URL(issuer), app.clientId, undefined, client.None(), {
      algorithm: 'oauth2',
      execute: [client.allowInsecureRequests],
    });
    const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair());
    const verifier = client.randomPKCECodeVerifier();
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: app.redirectUri,
      resource: resource.identifier,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state: 'some state',
      dpop_jkt: await DPoP.calculateThumbprint(),
    });
    const answer = new URL(await agree(browser, url));
    const checks = { pkceCodeVerifier: verifier, expectedState: 'some state' };
    const tokens = await client.authorizationCodeGrant(config, answer, checks, undefined, { DPoP });
    assert.equal(tokens.token_type, 'dpop');
    const again = String(tokens.refresh_token);
    await assert.rejects(client.refreshTokenGrant(config, again), { error: 'invalid_grant' });
    const refreshed = await client.refreshTokenGrant(config, again, undefined, { DPoP });
    assert.equal(refreshed.token_type, 'dpop');
  });
});
