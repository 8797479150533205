import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as oauth from 'oauth4webapi';
import { clientOf, listen } from '../support/clients/listening.ts';
import {
  accessTokenType,
  createDelegationClient,
  jwtType,
  tokenExchange,
} from '../support/scenarios/delegations.ts';

const t = await listen();
const agent = await clientOf(t);
// Loopback only; a real instance is reached over TLS.
const insecure = { [oauth.allowInsecureRequests]: true };
const issuer = new URL(t.issuer);
const server = await oauth.processDiscoveryResponse(
  issuer,
  await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
);
const client: oauth.Client = { client_id: agent.clientId };
const key = await crypto.subtle.importKey(
  'pkcs8',
  new Uint8Array(agent.privateKey.export({ type: 'pkcs8', format: 'der' })),
  { name: 'ECDSA', namedCurve: 'P-256' },
  false,
  ['sign'],
);

describe('oauth4webapi', () => {
  for (const [name, auth] of [
    ['client_secret_basic', oauth.ClientSecretBasic(agent.clientSecret)],
    ['client_secret_post', oauth.ClientSecretPost(agent.clientSecret)],
    ['private_key_jwt', oauth.PrivateKeyJwt({ key, kid: 'client-key' })],
  ] as const) {
    it(`discovers us, gets a token by ${name}, and verifies it as a resource server would`, async () => {
      const response = await oauth.clientCredentialsGrantRequest(
        server,
        client,
        auth,
        { scope: 'agents:read' },
        insecure,
      );
      const result = await oauth.processClientCredentialsResponse(server, client, response);
      assert.equal(result.token_type, 'bearer');
      assert.equal(result.scope, 'agents:read');
      const request = new Request(t.issuer, { headers: { authorization: `Bearer ${result.access_token}` } });
      const claims = await oauth.validateJwtAccessToken(server, request, t.issuer, insecure);
      assert.equal(claims.client_id, agent.clientId);
      const listed = await oauth.protectedResourceRequest(
        result.access_token,
        'GET',
        new URL('/api/v1/agents', t.issuer),
        new Headers(),
        null,
        insecure,
      );
      assert.equal(listed.status, 200);
    });
  }
  for (const [name, auth] of [
    ['client_secret_basic', oauth.ClientSecretBasic(agent.clientSecret)],
    ['private_key_jwt', oauth.PrivateKeyJwt({ key, kid: 'client-key' })],
  ] as const) {
    it(`redeems a delegation by token exchange, authenticated by ${name}`, async () => {
      const delegator = await t.agent();
      const { createDelegation } = createDelegationClient(t);
      const { delegationToken, chainId } = await createDelegation(
        await t.token(undefined, delegator),
        agent,
        ['agents:read'],
      );
      const response = await oauth.genericTokenEndpointRequest(
        server,
        client,
        auth,
        tokenExchange,
        {
          subject_token: delegationToken,
          subject_token_type: jwtType,
          requested_token_type: accessTokenType,
        },
        insecure,
      );
      const result = await oauth.processGenericTokenEndpointResponse(server, client, response);
      assert.equal(result.issued_token_type, accessTokenType);
      assert.equal(result.scope, 'agents:read');
      const request = new Request(t.issuer, { headers: { authorization: `Bearer ${result.access_token}` } });
      const claims = await oauth.validateJwtAccessToken(server, request, t.issuer, insecure);
      assert.equal(claims.sub, delegator.agentId);
      assert.equal(claims.client_id, agent.clientId);
      assert.deepEqual(claims.act, { sub: agent.agentId });
      assert.equal(claims.chain_id, chainId);
    });
  }

  for (const [name, auth] of [
    ['client_secret_basic', oauth.ClientSecretBasic(agent.clientSecret)],
    ['client_secret_post', oauth.ClientSecretPost(agent.clientSecret)],
    ['private_key_jwt', oauth.PrivateKeyJwt({ key, kid: 'client-key' })],
  ] as const) {
    it(`introspects a token, authenticated by ${name}`, async () => {
      assert.ok(server.introspection_endpoint_auth_methods_supported?.includes(name));
      const token = await t.token(undefined, agent);
      const ask = async (subject: string) => {
        const response = await oauth.introspectionRequest(server, client, auth, subject, insecure);
        return oauth.processIntrospectionResponse(server, client, response);
      };
      const answer = await ask(token);
      assert.equal(answer.active, true);
      assert.equal(answer.client_id, agent.clientId);
      assert.deepEqual(await ask('unknown'), { active: false });
    });
  }

  it('parses a refused introspection as a challenge', async () => {
    const wrong = oauth.ClientSecretBasic('wrong');
    const response = await oauth.introspectionRequest(server, client, wrong, 'unknown', insecure);
    await assert.rejects(
      oauth.processIntrospectionResponse(server, client, response),
      (error: unknown) =>
        error instanceof oauth.WWWAuthenticateChallengeError &&
        error.cause.map(({ scheme }) => scheme).join() === 'basic,bearer',
    );
  });

  it('parses a refusal as an OAuth error', async () => {
    const response = await oauth.clientCredentialsGrantRequest(
      server,
      client,
      oauth.ClientSecretPost('wrong'),
      {},
      insecure,
    );
    await assert.rejects(oauth.processClientCredentialsResponse(server, client, response), (error: Error) => {
      assert.ok(
        error instanceof oauth.ResponseBodyError || error instanceof oauth.WWWAuthenticateChallengeError,
      );
      return true;
    });
  });
});
