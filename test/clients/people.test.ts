/** Independent clients that act for a person: each goes the whole way from discovery to a refresh, with a browser between. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import {
  baseUrl,
  createAuthorizationScenario,
  redirectUri,
  type TestClient,
} from '../support/scenarios/authorization.ts';

const scenario = await createAuthorizationScenario();
const { t, resource, confidential, publicClient, documentClient, member, requestIdIn, decide } = scenario;

/** Requests to the instance are injected. */
async function send(address: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const request = new Request(address, init);
  const url = new URL(request.url);
  const answer = await t.call(request.method as 'GET' | 'POST', url.pathname + url.search, {
    headers: Object.fromEntries(request.headers),
    ...(request.method === 'POST' && { payload: await request.text() }),
  });
  const headers = Object.entries(answer.headers).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, String(one)]),
  );
  const hasBody = answer.status !== 204 && answer.status !== 302;
  return new Response(hasBody ? answer.text : null, { status: answer.status, headers });
}

/** A person opens the address, agrees, and the browser goes back to the client. */
async function agree(url: URL): Promise<URL> {
  const { browser } = await member();
  const requestId = requestIdIn((await browser.request(url)).location);
  return new URL((await decide(browser, requestId)).json.redirectTo);
}

const clients: Record<string, () => Promise<TestClient>> = {
  'a confidential client': confidential,
  'a public client': publicClient,
  'a client with a document': async () => documentClient(),
};

const metadata = await send(`${baseUrl}/.well-known/oauth-authorization-server`).then((answer) =>
  oauth.processDiscoveryResponse(new URL(baseUrl), answer),
);

for (const [kind, make] of Object.entries(clients)) {
  describe(kind, () => {
    it('oauth4webapi: code with PKCE and iss, refresh, revocation', async () => {
      const { clientId, credentials } = await make();
      const client: oauth.Client = { client_id: clientId };
      const proof = credentials.client_secret
        ? oauth.ClientSecretPost(credentials.client_secret)
        : oauth.None();
      const verifier = oauth.generateRandomCodeVerifier();
      const state = oauth.generateRandomState();
      const address = new URL(String(metadata.authorization_endpoint));
      address.search = new URLSearchParams({
        ...{ client_id: clientId, redirect_uri: redirectUri, response_type: 'code', state },
        ...{ scope: 'orders:read', resource: resource.identifier },
        ...{
          code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
        },
      }).toString();
      const parameters = oauth.validateAuthResponse(metadata, client, await agree(address), state);
      const options = { [oauth.customFetch]: send };
      const answer = await oauth.authorizationCodeGrantRequest(
        metadata,
        client,
        proof,
        parameters,
        redirectUri,
        verifier,
        options,
      );
      const tokens = await oauth.processAuthorizationCodeResponse(metadata, client, answer);
      assert.equal(tokens.scope, 'orders:read');
      const refreshed = await oauth.processRefreshTokenResponse(
        metadata,
        client,
        await oauth.refreshTokenGrantRequest(metadata, client, proof, String(tokens.refresh_token), options),
      );
      assert.notEqual(refreshed.refresh_token, tokens.refresh_token);
      const revoked = await oauth.revocationRequest(
        metadata,
        client,
        proof,
        String(refreshed.refresh_token),
        options,
      );
      await oauth.processRevocationResponse(revoked);
      assert.equal(await scenario.isActive(refreshed.access_token), false);
    });

    it('openid-client: code with PKCE, refresh', async () => {
      const { clientId, credentials } = await make();
      const { client_secret: secret } = credentials;
      const config = await openid.discovery(
        new URL(baseUrl),
        clientId,
        undefined,
        secret ? openid.ClientSecretPost(secret) : openid.None(),
        { [openid.customFetch]: send as openid.CustomFetch, algorithm: 'oauth2' },
      );
      const verifier = openid.randomPKCECodeVerifier();
      const state = openid.randomState();
      const address = openid.buildAuthorizationUrl(config, {
        ...{ redirect_uri: redirectUri, scope: 'orders:read', resource: resource.identifier, state },
        ...{
          code_challenge: await openid.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
        },
      });
      const tokens = await openid.authorizationCodeGrant(config, await agree(address), {
        pkceCodeVerifier: verifier,
        expectedState: state,
      });
      assert.equal(tokens.scope, 'orders:read');
      const refreshed = await openid.refreshTokenGrant(config, String(tokens.refresh_token));
      assert.equal(await scenario.isActive(refreshed.access_token), true);
    });
  });
}
