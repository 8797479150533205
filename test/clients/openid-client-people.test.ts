/** openid-client as the library of a client that acts for a person. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeJwt } from 'jose';
import * as client from 'openid-client';
import { listenForPeople } from '../support/clients/listening.ts';

const scenario = await listenForPeople();
const { t, issuer, resource, agree, member } = scenario;

const discover = (clientId: string, auth: client.ClientAuth, algorithm: 'oauth2' | 'oidc' = 'oauth2') =>
  client.discovery(new URL(issuer), clientId, undefined, auth, {
    algorithm,
    // Loopback only; a real instance is reached over TLS.
    execute: [client.allowInsecureRequests],
  });

const kinds: Record<
  string,
  () => Promise<{ clientId: string; auth: client.ClientAuth; redirect_uri: string }>
> = {
  'a public client on loopback': async () => {
    const { clientId } = await scenario.publicClient('http://[::1]/callback');
    return { clientId, auth: client.None(), redirect_uri: 'http://[::1]:49152/callback' };
  },
  'a client with a secret': async () => {
    const { clientId, agent, redirectUri } = await scenario.confidential();
    return { clientId, auth: client.ClientSecretPost(agent.clientSecret), redirect_uri: redirectUri };
  },
  'a client with a metadata document': async () => {
    const { clientId, redirectUri } = scenario.documentClient();
    return { clientId, auth: client.None(), redirect_uri: redirectUri };
  },
};

describe('openid-client', () => {
  for (const algorithm of ['oauth2', 'oidc'] as const)
    for (const [kind, make] of Object.entries(kinds))
      it(`${kind}, by ${algorithm} metadata: code, introspection, refresh, revocation`, async () => {
        const { clientId, auth, redirect_uri } = await make();
        const config = await discover(clientId, auth, algorithm);
        const [verifier, expectedState] = [client.randomPKCECodeVerifier(), client.randomState()];
        const url = client.buildAuthorizationUrl(config, {
          redirect_uri,
          code_challenge: await client.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
          state: expectedState,
          resource: resource.identifier,
        });
        const { browser, personId } = await member();
        const answer = new URL(await agree(browser, url));
        // Compares `state`, and `iss` with the issuer that was discovered.
        const first = await client.authorizationCodeGrant(config, answer, {
          pkceCodeVerifier: verifier,
          expectedState,
        });
        assert.equal(first.scope, 'orders:read orders:write');
        const reader = await t.agent({ allowedScopes: ['tokens:read'] });
        const api = await discover(reader.clientId, client.ClientSecretPost(reader.clientSecret));
        const { active, sub, sub_profile, act } = await client.tokenIntrospection(api, first.access_token);
        const actor = { sub: decodeJwt(first.access_token).client_id, sub_profile: 'ai_agent' };
        assert.deepEqual(
          { active, sub, sub_profile, act },
          {
            active: true,
            sub: personId,
            sub_profile: 'person',
            act: actor,
          },
        );
        const second = await client.refreshTokenGrant(config, String(first.refresh_token));
        assert.notEqual(second.refresh_token, first.refresh_token);
        await client.tokenRevocation(config, String(second.refresh_token), {
          token_type_hint: 'refresh_token',
        });
        for (const token of [first.access_token, second.access_token])
          assert.deepEqual(await client.tokenIntrospection(api, token), { active: false });
        await assert.rejects(
          client.refreshTokenGrant(config, String(second.refresh_token)),
          (error: unknown) => error instanceof client.ResponseBodyError && error.error === 'invalid_grant',
        );
      });
});
