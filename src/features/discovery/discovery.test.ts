import assert from 'node:assert/strict';
import { createPublicKey } from 'node:crypto';
import { describe, it } from 'node:test';
import { calculateJwkThumbprint, createLocalJWKSet, type JWK, jwtVerify } from 'jose';
import { environment, startApp } from '../../../test/support/harness.ts';
import { generateKeyPair } from '../../kernel/config/keypair.ts';

const t = await startApp({ BASE_URL: 'https://id.example.com' });
const read = async (name: string) => (await t.call('GET', `/.well-known/${name}`)).json;

describe('discovery', () => {
  it('jwks.json holds the public key only, with its thumbprint as kid, and it verifies a token', async () => {
    const jwks = await read('jwks.json');
    assert.equal(jwks.keys.length, 1);
    const [key] = jwks.keys;
    assert.deepEqual(Object.keys(key).sort(), ['alg', 'e', 'kid', 'kty', 'n', 'use']);
    assert.equal(key.kid, await calculateJwkThumbprint(key));
    const { payload, protectedHeader } = await jwtVerify(await t.token(), createLocalJWKSet(jwks), {
      issuer: 'https://id.example.com',
      audience: 'https://id.example.com',
      typ: 'at+jwt',
    });
    assert.equal(protectedHeader.kid, key.kid);
    assert.equal(payload.sub, t.operator.agentId);
  });
  it('jwks.json lists every further key once, the active one first, and may be cached for five minutes', async () => {
    const { JWT_PUBLIC_KEY } = environment('');
    const { publicPem } = generateKeyPair();
    const rotating = await startApp({ JWT_PREVIOUS_PUBLIC_KEYS: publicPem + JWT_PUBLIC_KEY });
    const { json, headers } = await rotating.call('GET', '/.well-known/jwks.json');
    const thumbprints = [JWT_PUBLIC_KEY, publicPem].map((pem) =>
      calculateJwkThumbprint(createPublicKey(pem).export({ format: 'jwk' }) as JWK),
    );
    assert.deepEqual(
      json.keys.map(({ kid }: { kid: string }) => kid),
      await Promise.all(thumbprints),
    );
    assert.equal(headers['cache-control'], 'public, max-age=300');
  });
  it('the metadata name the issuer and reachable endpoints, independent of the Host header', async () => {
    for (const name of ['oauth-authorization-server', 'openid-configuration']) {
      const answer = await t.call('GET', `/.well-known/${name}`, { headers: { host: 'evil.example' } });
      assert.equal(answer.json.issuer, 'https://id.example.com');
      assert.doesNotMatch(answer.text, /evil/);
      assert.match(String(answer.headers['cache-control']), /max-age/);
      for (const endpoint of [
        'token_endpoint',
        'introspection_endpoint',
        'revocation_endpoint',
        'backchannel_authentication_endpoint',
      ]) {
        const { pathname } = new URL(answer.json[endpoint]);
        assert.notEqual((await t.call('POST', pathname)).status, 404, endpoint);
      }
      assert.equal((await t.call('GET', new URL(answer.json.jwks_uri).pathname)).status, 200);
      // 400: there is an endpoint, and the request names no client.
      const authorize = await t.call('GET', new URL(answer.json.authorization_endpoint).pathname);
      assert.equal(authorize.status, 400);
      assert.deepEqual(answer.json.response_types_supported, ['code']);
      assert.deepEqual(answer.json.response_modes_supported, ['query']);
      assert.deepEqual(answer.json.code_challenge_methods_supported, ['S256']);
      assert.deepEqual(answer.json.grant_types_supported, [
        'client_credentials',
        'urn:ietf:params:oauth:grant-type:token-exchange',
        'authorization_code',
        'refresh_token',
        'urn:openid:params:grant-type:ciba',
        'urn:ietf:params:oauth:grant-type:jwt-bearer',
      ]);
      assert.deepEqual(answer.json.authorization_grant_profiles_supported, [
        'urn:ietf:params:oauth:grant-profile:id-jag',
      ]);
      assert.deepEqual(answer.json.identity_chaining_requested_token_types_supported, [
        'urn:ietf:params:oauth:token-type:id-jag',
      ]);
      // src/adapters/keys/dpop.test.ts uses each of them.
      const algorithms = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 EdDSA Ed25519'.split(' ');
      assert.deepEqual(answer.json.dpop_signing_alg_values_supported, algorithms);
      assert.deepEqual(answer.json.token_endpoint_auth_signing_alg_values_supported, algorithms);
      assert.deepEqual(answer.json.backchannel_token_delivery_modes_supported, ['poll', 'ping']);
      assert.equal(answer.json.backchannel_user_code_parameter_supported, false);
      assert.equal(answer.json.client_id_metadata_document_supported, true);
      assert.equal(answer.json.authorization_response_iss_parameter_supported, true);
      assert.ok(!('authorization_details_types_supported' in answer.json));
      const methods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'];
      assert.deepEqual(answer.json.token_endpoint_auth_methods_supported, [...methods, 'spiffe_jwt', 'none']);
      assert.deepEqual(answer.json.introspection_endpoint_auth_methods_supported, [...methods, 'Bearer']);
      assert.deepEqual(
        answer.json.introspection_endpoint_auth_signing_alg_values_supported,
        answer.json.token_endpoint_auth_signing_alg_values_supported,
      );
      assert.deepEqual(answer.json.revocation_endpoint_auth_methods_supported, [
        ...methods,
        'none',
        'Bearer',
      ]);
    }
    assert.deepEqual((await read('openid-configuration')).subject_types_supported, ['public']);
  });
  it('401 and 403 name the protected-resource document in WWW-Authenticate', async () => {
    const document = 'https://id.example.com/.well-known/oauth-protected-resource';
    for (const token of [undefined, 'garbage']) {
      const { headers } = await t.call('GET', '/api/v1/agents', { ...(token && { token }) });
      assert.ok(
        String(headers['www-authenticate']).endsWith(`scope="agents:read", resource_metadata="${document}"`),
      );
    }
    // Every route that an access token opens, also those without a fixed scope: a client knows what to ask for.
    const tokenRoutes = t.app.routes.filter(
      ({ method, path, access }) =>
        method === 'GET' && path.startsWith('/api/v1') && ['bearer', 'scope', 'policy'].includes(access.kind),
    );
    assert.ok(tokenRoutes.length > 30);
    for (const { path } of tokenRoutes) {
      const { status, headers } = await t.call('GET', path.replaceAll(/:\w+/g, crypto.randomUUID()));
      assert.equal(status, 401, path);
      assert.match(
        String(headers['www-authenticate']),
        /^Bearer scope="[a-z]+:[a-z]+", resource_metadata="/,
        path,
      );
    }
    const weak = await t.token(undefined, await t.agent({ allowedScopes: [] }));
    const { headers } = await t.call('GET', '/api/v1/agents', { token: weak });
    assert.match(
      String(headers['www-authenticate']),
      /error="insufficient_scope", scope="agents:read", resource_metadata=/,
    );
    const resource = await read('oauth-protected-resource');
    assert.deepEqual(
      [resource.resource, resource.authorization_servers],
      ['https://id.example.com', ['https://id.example.com']],
    );
  });
});

describe('resource (RFC 8707)', () => {
  const ask = (resource: string) =>
    t.askToken({
      grant_type: 'client_credentials',
      client_id: t.operator.clientId,
      client_secret: t.operator.clientSecret,
      resource,
    });

  it('200 becomes the audience; our API refuses the token, introspection and revocation accept it', async () => {
    const { status, json } = await ask('https://mcp.example.com/tools');
    assert.equal(status, 200);
    const jwks = createLocalJWKSet(await read('jwks.json'));
    await jwtVerify(json.access_token, jwks, { audience: 'https://mcp.example.com/tools' });
    assert.equal((await t.call('GET', '/api/v1/agents', { token: json.access_token })).status, 401);
    const own = await t.token();
    const question = { token: json.access_token };
    assert.equal((await t.form('/api/v1/token/introspect', question, own)).json.active, true);
    assert.equal((await t.form('/api/v1/token/revoke', question, own)).status, 200);
    assert.deepEqual((await t.form('/api/v1/token/introspect', question, own)).json, { active: false });
  });
  it('200 our own address is the default', async () => {
    for (const own of ['https://id.example.com', 'https://id.example.com/', 'HTTPS://ID.example.com']) {
      const { json } = await ask(own);
      assert.equal((await t.call('GET', '/api/v1/agents', { token: json.access_token })).status, 200, own);
    }
  });
  for (const bad of [
    'tools',
    '/tools',
    'https://x.example/#part',
    'https://user:pw@x.example',
    'javascript:alert(1)',
    ' https://x.example',
    'http:foo',
    'https:///x',
    'http:\\\\evil',
    'http://ex\tample.com',
    'http://é.com/',
    `https://x.example/${'a'.repeat(2000)}`,
  ]) {
    it(`400 unsupported_grant_type for ${JSON.stringify(bad.slice(0, 30))}`, async () => {
      const { status, json } = await ask(bad);
      assert.deepEqual([status, json.error], [400, 'unsupported_grant_type']);
    });
  }
});
