/** Clients that know the issuer alone verify our tokens with each kind of signing key. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import * as oauth from 'oauth4webapi';
import * as client from 'openid-client';
import { generateKeyPair, type KeyKind } from '../../src/kernel/config/keypair.ts';
import { clientOf, listen } from '../support/clients/listening.ts';

// Loopback only; a real instance is reached over TLS.
const insecure = { [oauth.allowInsecureRequests]: true };

for (const [kind, algorithm] of [
  ['rsa', 'RS256'],
  ['p-256', 'ES256'],
  ['ed25519', 'EdDSA'],
] as const satisfies readonly (readonly [KeyKind, string])[])
  describe(`an instance that signs with ${algorithm}`, async () => {
    const { privatePem, publicPem } = generateKeyPair(kind);
    const t = await listen({ JWT_PRIVATE_KEY: privatePem, JWT_PUBLIC_KEY: publicPem });
    const agent = await clientOf(t);

    it('oauth4webapi discovers it and validates an access token as a resource server', async () => {
      const issuer = new URL(t.issuer);
      const server = await oauth.processDiscoveryResponse(
        issuer,
        await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
      );
      const token = await t.token('agents:read', agent);
      const request = new Request(t.issuer, { headers: { authorization: `Bearer ${token}` } });
      const options = { ...insecure, signingAlgorithms: [algorithm] };
      const claims = await oauth.validateJwtAccessToken(server, request, t.issuer, options);
      assert.equal(claims.client_id, agent.clientId);
    });

    it('openid-client gets a token, and jose verifies an ID token with the algorithms that it has discovered', async () => {
      const config = await client.discovery(
        new URL(t.issuer),
        agent.clientId,
        undefined,
        client.ClientSecretBasic(agent.clientSecret),
        { algorithm: 'oidc', execute: [client.allowInsecureRequests] },
      );
      const metadata = config.serverMetadata();
      assert.deepEqual(metadata.id_token_signing_alg_values_supported, [algorithm]);
      const { access_token } = await client.clientCredentialsGrant(config);
      const { json } = await t.form('/api/v1/oidc/id-token', { audience: 'sts.example.com' }, access_token);
      const keys = createRemoteJWKSet(new URL(String(metadata.jwks_uri)));
      const { payload } = await jwtVerify(json.id_token, keys, {
        issuer: metadata.issuer,
        audience: 'sts.example.com',
        algorithms: metadata.id_token_signing_alg_values_supported as string[],
      });
      assert.equal(payload.sub, agent.agentId);
    });
  });
