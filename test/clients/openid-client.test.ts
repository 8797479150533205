import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as client from 'openid-client';
import { clientOf, listen } from '../support/clients/listening.ts';

const t = await listen();
const agent = await clientOf(t);

const discover = (auth: client.ClientAuth, algorithm: 'oauth2' | 'oidc') =>
  client.discovery(new URL(t.issuer), agent.clientId, undefined, auth, {
    algorithm,
    // Loopback only; a real instance is reached over TLS.
    execute: [client.allowInsecureRequests],
  });

describe('openid-client', () => {
  for (const algorithm of ['oauth2', 'oidc'] as const) {
    for (const [name, auth] of [
      ['client_secret_basic', client.ClientSecretBasic(agent.clientSecret)],
      ['client_secret_post', client.ClientSecretPost(agent.clientSecret)],
    ] as const) {
      it(`discovers us by ${algorithm} metadata and gets a token by ${name}, also for another resource`, async () => {
        const config = await discover(auth, algorithm);
        const tokens = await client.clientCredentialsGrant(config, { scope: 'agents:read tokens:read' });
        assert.equal(tokens.expires_in, 3600);
        assert.equal((await t.call('GET', '/api/v1/agents', { token: tokens.access_token })).status, 200);
        const other = await client.clientCredentialsGrant(config, { resource: 'https://tools.example.com' });
        assert.equal((await t.call('GET', '/api/v1/agents', { token: other.access_token })).status, 401);
      });
    }
  }
});
