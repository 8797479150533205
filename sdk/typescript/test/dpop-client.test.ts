/** Proofs of possession that the client sends, as a server sees them. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import {
  calculateJwkThumbprint,
  decodeProtectedHeader,
  EmbeddedJWK,
  exportJWK,
  generateKeyPair,
  type JWTPayload,
  jwtVerify,
} from 'jose';
import {
  createDpop,
  createPersonSession,
  finishAuthorization,
  type PersonTokens,
  startAuthorization,
} from '../src/sdk.ts';
import { issue, json, listenLocally, type Seen, startMisbehaving, tokenPath } from './misbehaving-server.ts';

const bound = { token_type: 'DPoP' };

/** Checked with the key in the proof, as any server would. */
async function readProof({ headers }: Seen): Promise<JWTPayload & { jkt: string }> {
  const { payload, protectedHeader } = await jwtVerify(String(headers.dpop), EmbeddedJWK, {
    typ: 'dpop+jwt',
    currentDate: new Date(1_700_000_000_000),
  });
  assert.ok(protectedHeader.jwk);
  assert.deepEqual(Object.keys(protectedHeader.jwk).sort(), ['crv', 'kty', 'x', 'y']);
  return { ...payload, jkt: await calculateJwkThumbprint(protectedHeader.jwk) };
}

const hash = (text: string, encoding: 'base64' | 'base64url') =>
  createHash('sha256').update(text).digest(encoding);

describe('dpop: true', () => {
  it('proofs at the token endpoint and at resources, all of one key', async (t) => {
    const { client, url, seen } = await startMisbehaving(
      t,
      ({ path }, response, count) =>
        path === tokenPath ? issue(response, count, bound) : json(response, 200, {}),
      { dpop: true },
    );
    const body = '{"method":"tools/call","text":"ü"}';
    await client.fetch(`${url}/api/v1/agents?limit=1#x`, { method: 'post', body });
    await client.fetch(`${url}/api/v1/agents`);
    const [token, post, get] = await Promise.all(seen.map(readProof));
    assert.ok(token && post && get);
    assert.deepEqual([token.htm, token.htu, token.iat], ['POST', `${url}${tokenPath}`, 1_700_000_000]);
    assert.deepEqual([token.ath, token.content_digest, token.nonce], [undefined, undefined, undefined]);
    assert.deepEqual([post.htm, post.htu], ['POST', `${url}/api/v1/agents`]);
    assert.deepEqual([get.htm, get.htu, get.content_digest], ['GET', `${url}/api/v1/agents`, undefined]);
    for (const { ath } of [post, get]) assert.equal(ath, hash('token-1', 'base64url'));
    assert.equal(post.content_digest, `sha-256=:${hash(body, 'base64')}:`);
    assert.equal(seen[1]?.body, body);
    assert.equal(seen[1]?.headers['content-type'], 'text/plain;charset=UTF-8');
    assert.deepEqual(
      seen.map(({ headers }) => headers.authorization),
      [undefined, 'DPoP token-1', 'DPoP token-1'],
    );
    assert.equal(new Set([token, post, get].map(({ jti }) => jti)).size, 3);
    const thumbprint = await client.dpop?.thumbprint();
    assert.deepEqual([token.jkt, post.jkt, get.jkt], [thumbprint, thumbprint, thumbprint]);
  });

  it('the digest is of the bytes that are sent: forms with a boundary, and bytes', async (t) => {
    const { client, url, seen } = await startMisbehaving(
      t,
      ({ path }, response, count) =>
        path === tokenPath ? issue(response, count, bound) : json(response, 200, {}),
      { dpop: true },
    );
    const form = new FormData();
    form.set('name', 'value');
    const bodies = [
      form,
      new URLSearchParams({ a: 'ü' }),
      new TextEncoder().encode('bytes'),
      new Blob(['b']),
    ];
    for (const body of bodies) await client.fetch(`${url}/x`, { resource: url, method: 'PUT', body });
    for (const request of seen.filter(({ path }) => path === '/x')) {
      const { content_digest: digest } = await readProof(request);
      assert.equal(digest, `sha-256=:${hash(request.body, 'base64')}:`);
    }
    assert.match(String(seen[1]?.headers['content-type']), /^multipart\/form-data; boundary=/);
    // A stream is not kept in memory.
    const stream = new Blob(['streamed']).stream();
    await client.fetch(`${url}/stream`, {
      resource: url,
      method: 'POST',
      body: stream,
      duplex: 'half',
    } as object);
    const last = seen.at(-1) as Seen;
    assert.deepEqual([last.body, (await readProof(last)).content_digest], ['streamed', undefined]);
  });

  it('a nonce that the token endpoint or a resource demands: once more, and from then on at once', async (t) => {
    const { client, url, seen, time } = await startMisbehaving(
      t,
      async (request, response, count) => {
        const { nonce } = await readProof(request);
        const isToken = request.path === tokenPath;
        if (isToken && nonce !== 'n1')
          return json(response, 400, { error: 'use_dpop_nonce' }, { 'dpop-nonce': 'n1' });
        if (isToken) return issue(response, count, bound);
        if (nonce !== 'n2')
          return json(
            response,
            401,
            {},
            {
              'dpop-nonce': 'n2',
              'www-authenticate': 'DPoP error="use_dpop_nonce", algs="ES256"',
            },
          );
        return json(response, 200, {});
      },
      { dpop: true },
    );
    assert.equal((await client.fetch(`${url}/x`, { resource: url, method: 'POST', body: '1' })).status, 200);
    assert.equal((await client.fetch(`${url}/x`, { resource: url })).status, 200);
    assert.deepEqual(
      seen.map(({ path }) => path),
      [tokenPath, tokenPath, '/x', '/x', '/x'],
    );
    const jtis = await Promise.all(seen.map(async (request) => (await readProof(request)).jti));
    assert.equal(new Set(jtis).size, 5);
    assert.deepEqual(time.slept, []);
  });

  it('a server that never accepts the nonce is asked twice; invalid_dpop_proof is an error', async (t) => {
    const { client, seen } = await startMisbehaving(
      t,
      (_, response, count) => json(response, 400, { error: 'use_dpop_nonce' }, { 'dpop-nonce': `n${count}` }),
      { dpop: true },
    );
    await assert.rejects(client.token(), { name: 'ApiError', code: 'use_dpop_nonce' });
    assert.equal(seen.length, 2);
    const refusing = await startMisbehaving(
      t,
      (_, response) => json(response, 400, { error: 'invalid_dpop_proof' }, { 'dpop-nonce': 'n' }),
      { dpop: true },
    );
    await assert.rejects(refusing.client.token(), { name: 'ApiError', code: 'invalid_dpop_proof' });
    assert.equal(refusing.seen.length, 1);
  });

  it('an expired token is replaced once, also with DPoP in the challenge', async (t) => {
    const { client, url, seen } = await startMisbehaving(
      t,
      ({ path, headers }, response, count) => {
        if (path === tokenPath) return issue(response, count, bound);
        return headers.authorization === 'DPoP token-2'
          ? json(response, 200, {})
          : json(response, 401, {}, { 'www-authenticate': 'DPoP error="invalid_token", algs="ES256"' });
      },
      { dpop: true },
    );
    assert.equal((await client.fetch(`${url}/x`, { resource: url })).status, 200);
    assert.equal(seen.length, 4);
  });

  it('each retry has a proof of its own', async (t) => {
    const { client, url, seen } = await startMisbehaving(
      t,
      ({ path }, response, count) =>
        path === tokenPath ? issue(response, count, bound) : json(response, count < 3 ? 503 : 200, {}),
      { dpop: true },
    );
    assert.equal((await client.fetch(`${url}/x`, { resource: url })).status, 200);
    const jtis = await Promise.all(seen.map(async (request) => (await readProof(request)).jti));
    assert.equal(new Set(jtis).size, 4);
  });

  it('a redirect gets a new proof for its address, and another origin gets none', async (t) => {
    const other = await listenLocally(t, (_, response) => json(response, 200, {}));
    const { client, url, seen } = await startMisbehaving(
      t,
      ({ path }, response, count) => {
        if (path === tokenPath) return issue(response, count, bound);
        const location = { '/a': '/b', '/c': `${other.url}/d` }[path];
        return location ? json(response, 302, {}, { location }) : json(response, 200, {});
      },
      { dpop: true },
    );
    await client.fetch(`${url}/a`, { resource: url });
    assert.equal((await readProof(seen.at(-1) as Seen)).htu, `${url}/b`);
    await client.fetch(`${url}/c`, { resource: url, headers: { dpop: 'mine' } });
    assert.deepEqual(
      [other.seen[0]?.headers.dpop, other.seen[0]?.headers.authorization],
      [undefined, undefined],
    );
  });

  it('ConnectionError for a token that is not bound, and without dpop for one that is', async (t) => {
    for (const [dpop, changes] of [
      [true, {}],
      [false, bound],
    ] as const) {
      const { client, seen } = await startMisbehaving(
        t,
        (_, response, count) => issue(response, count, changes),
        { dpop },
      );
      await assert.rejects(client.token(), { name: 'ConnectionError', code: 'invalid_response' });
      assert.equal('dpop' in (seen[0]?.headers ?? {}), dpop);
    }
  });
});

describe('dpop: { key }', () => {
  it('a pair of keys or a private JWK; the private part never leaves', async (t) => {
    const pair = await generateKeyPair('ES256', { extractable: true });
    const jwk = await exportJWK(pair.privateKey);
    const expected = await calculateJwkThumbprint(await exportJWK(pair.publicKey));
    for (const key of [pair, jwk]) {
      const { client, seen } = await startMisbehaving(
        t,
        (_, response, count) => issue(response, count, bound),
        { dpop: { key } },
      );
      await client.token();
      assert.equal((await readProof(seen[0] as Seen)).jkt, expected);
    }
  });

  it('other algorithms; TypeError and errors for keys that cannot sign', async () => {
    for (const algorithm of ['EdDSA', 'PS256', 'RS256', 'ES384']) {
      const key = await generateKeyPair(algorithm);
      const proof = await createDpop({ key }).prove({ method: 'GET', url: 'https://api.example/x' });
      assert.equal(decodeProtectedHeader(proof).alg, algorithm);
      await jwtVerify(proof, EmbeddedJWK, { typ: 'dpop+jwt' });
    }
    assert.throws(() => createDpop({ key: {} as never }), TypeError);
    const { publicKey } = await generateKeyPair('ES256');
    const unusable = createDpop({ key: await exportJWK(publicKey) });
    await assert.rejects(unusable.prove({ method: 'GET', url: 'https://api.example/x' }));
  });
});

it('a person: dpop_jkt, the code and the refresh token are of one key', async (t) => {
  const { url, seen } = await listenLocally(t, ({ path }, response, count) =>
    path === tokenPath
      ? issue(response, count, { ...bound, refresh_token: `refresh-${count}` })
      : json(response, 200, {
          issuer: url,
          authorization_endpoint: `${url}/authorize`,
          token_endpoint: `${url}${tokenPath}`,
          code_challenge_methods_supported: ['S256'],
        }),
  );
  const platform = { now: () => 1_700_000_000_000 };
  const dpop = createDpop({ platform });
  const person = { issuer: url, clientId: 'agent', resource: 'https://api.example.com', dpop, platform };
  const started = await startAuthorization(person);
  const jkt = new URL(started.url).searchParams.get('dpop_jkt');
  assert.equal(jkt, await dpop.thumbprint());
  const callback = `http://127.0.0.1/callback?code=c&state=${started.state}`;
  const tokens: PersonTokens = await finishAuthorization(callback, started, person);
  const session = createPersonSession(person);
  await session.save(tokens);
  assert.equal(await session.refresh(), 'token-2');
  const proofs = await Promise.all(seen.filter(({ path }) => path === tokenPath).map(readProof));
  assert.deepEqual(
    proofs.map((proof) => proof.jkt),
    [jkt, jkt],
  );
});
