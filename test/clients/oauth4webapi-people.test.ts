/** oauth4webapi as the library of a client that acts for a person. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { decodeJwt, exportJWK } from 'jose';
import * as oauth from 'oauth4webapi';
import { listenForPeople } from '../support/clients/listening.ts';

const scenario = await listenForPeople();
const { t, resource, agree, member } = scenario;
// Loopback only; a real instance is reached over TLS.
const insecure = { [oauth.allowInsecureRequests]: true };
const issuer = new URL(scenario.issuer);
const server = await oauth.processDiscoveryResponse(
  issuer,
  await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
);

interface Registered {
  readonly client: oauth.Client;
  readonly auth: oauth.ClientAuth;
  readonly redirectUri: string;
}

/** Client authentication by a new key. */
async function keyAuth() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = await crypto.subtle.importKey(
    'pkcs8',
    new Uint8Array(privateKey.export({ type: 'pkcs8', format: 'der' })),
    { name: 'ECDSA', namedCurve: 'P-256' },
    false,
    ['sign'],
  );
  return { auth: oauth.PrivateKeyJwt({ key, kid: 'one' }), publicKey };
}

const clients: Record<string, () => Promise<Registered>> = {
  'a public client on loopback': async () => {
    const { clientId } = await scenario.publicClient('http://127.0.0.1/callback');
    return {
      client: { client_id: clientId },
      auth: oauth.None(),
      redirectUri: 'http://127.0.0.1:49152/callback',
    };
  },
  'a client with a secret': async () => {
    const { clientId, agent, redirectUri } = await scenario.confidential();
    return {
      client: { client_id: clientId },
      auth: oauth.ClientSecretBasic(agent.clientSecret),
      redirectUri,
    };
  },
  'a client with a metadata document and a key': async () => {
    const { auth, publicKey } = await keyAuth();
    const { clientId, redirectUri } = scenario.documentClient({
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }] },
    });
    return { client: { client_id: clientId }, auth, redirectUri };
  },
};

/** The address of an authorization request, and the way from its answer to tokens. */
async function start({ client, auth, redirectUri }: Registered) {
  const [verifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()];
  const url = new URL(String(server.authorization_endpoint));
  url.search = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    scope: 'orders:read orders:write',
    resource: resource.identifier,
  }).toString();
  const finish = async (location: string) => {
    // Refuses another state, and an `iss` that is missing or another (RFC 9207).
    const parameters = oauth.validateAuthResponse(server, client, new URL(location), state);
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      auth,
      parameters,
      redirectUri,
      verifier,
      insecure,
    );
    return oauth.processAuthorizationCodeResponse(server, client, response);
  };
  return { url, finish };
}

describe('oauth4webapi', () => {
  it('finds in our metadata what it needs for people', () => {
    assert.deepEqual(
      [
        server.response_types_supported,
        server.response_modes_supported,
        server.code_challenge_methods_supported,
        server.authorization_response_iss_parameter_supported,
      ],
      [['code'], ['query'], ['S256'], true],
    );
    for (const grant of ['authorization_code', 'refresh_token'])
      assert.ok(server.grant_types_supported?.includes(grant), grant);
    assert.ok(server.token_endpoint_auth_methods_supported?.includes('none'));
  });

  for (const [kind, make] of Object.entries(clients))
    it(`${kind}: code, introspection, refresh, revocation`, async () => {
      const registered = await make();
      const { client, auth } = registered;
      const { browser, personId } = await member();
      const { url, finish } = await start(registered);
      const first = await finish(await agree(browser, url));
      assert.deepEqual([first.token_type, first.scope], ['bearer', 'orders:read orders:write']);

      const request = new Request(resource.identifier, {
        headers: { authorization: `Bearer ${first.access_token}` },
      });
      const claims = await oauth.validateJwtAccessToken(server, request, resource.identifier, insecure);
      assert.equal(claims.sub, personId);

      const reader = await t.agent({ allowedScopes: ['tokens:read'] });
      const introspect = async (token: string) => {
        const readerAuth = oauth.ClientSecretBasic(reader.clientSecret);
        const owner = { client_id: reader.clientId };
        const answer = await oauth.introspectionRequest(server, owner, readerAuth, token, insecure);
        return oauth.processIntrospectionResponse(server, owner, answer);
      };
      const { active, sub, sub_profile, act, client_uri, aud } = await introspect(first.access_token);
      assert.deepEqual([active, sub, sub_profile, aud], [true, personId, 'person', resource.identifier]);
      assert.deepEqual(act, { sub: claims.client_id, sub_profile: 'ai_agent' });
      const isDocument = client.client_id.startsWith('https://');
      assert.equal(client_uri, isDocument ? client.client_id : undefined);

      const refreshed = await oauth.refreshTokenGrantRequest(
        server,
        client,
        auth,
        String(first.refresh_token),
        { ...insecure, additionalParameters: { scope: 'orders:read' } },
      );
      const second = await oauth.processRefreshTokenResponse(server, client, refreshed);
      assert.equal(second.scope, 'orders:read');
      assert.notEqual(second.refresh_token, first.refresh_token);
      assert.equal(decodeJwt(second.access_token).chain_id, claims.chain_id);

      const revoked = await oauth.revocationRequest(
        server,
        client,
        auth,
        String(second.refresh_token),
        insecure,
      );
      await oauth.processRevocationResponse(revoked);
      for (const token of [first.access_token, second.access_token])
        assert.deepEqual(await introspect(token), { active: false });
    });

  it('revokes nothing by an assertion with another key, nor an unknown refresh token', async () => {
    const registered = await (
      clients['a client with a metadata document and a key'] as () => Promise<Registered>
    )();
    const { browser } = await member();
    const { url, finish } = await start(registered);
    const { access_token, refresh_token } = await finish(await agree(browser, url));
    const revoke = (auth: oauth.ClientAuth, token = String(refresh_token)) =>
      oauth.revocationRequest(server, registered.client, auth, token, insecure);
    assert.equal((await revoke((await keyAuth()).auth)).status, 401);
    assert.equal((await revoke(registered.auth, `csr_${oauth.generateRandomState()}`)).status, 200);
    // The assertion alone names the client: client_id is optional beside it (RFC 7521 §4.2).
    const nameless: oauth.ClientAuth = async (...request) => {
      await registered.auth(...request);
      request[2].delete('client_id');
    };
    assert.equal((await revoke(nameless, `csr_${oauth.generateRandomState()}`)).status, 200);
    assert.equal((await revoke(nameless, access_token)).status, 401);
    assert.equal(await scenario.isActive(access_token), true);
    assert.equal((await revoke(registered.auth)).status, 200);
    assert.equal(await scenario.isActive(access_token), false);
  });

  it('parses a refusal of the person, with state and iss', async () => {
    const registered = await (clients['a client with a secret'] as () => Promise<Registered>)();
    const { browser } = await member();
    const { url, finish } = await start(registered);
    await assert.rejects(
      async () => finish(await agree(browser, url, { decision: 'deny' })),
      (error: unknown) =>
        error instanceof oauth.AuthorizationResponseError && error.error === 'access_denied',
    );
  });

  it('refuses an answer of another issuer, and a code that another client began', async () => {
    const registered = await (clients['a public client on loopback'] as () => Promise<Registered>)();
    const { browser } = await member();
    const [own, other] = [await start(registered), await start(registered)];
    const location = new URL(await agree(browser, own.url));
    const forged = new URL(location);
    forged.searchParams.set('iss', 'https://evil.example');
    await assert.rejects(own.finish(forged.href), oauth.OperationProcessingError);
    location.searchParams.set('state', String(other.url.searchParams.get('state')));
    // The attacker knows the code and the state, but not the verifier.
    await assert.rejects(
      other.finish(location.href),
      (error: unknown) => error instanceof oauth.ResponseBodyError && error.error === 'invalid_grant',
    );
  });
});
