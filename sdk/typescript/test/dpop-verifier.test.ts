/** Tokens that are bound to a key: the verifier accepts them with a good proof, and with no other. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import { createDpop, createVerifier, type TokenError, type VerifierOptions } from '../src/sdk.ts';
import { createProofStore } from '../src/verify/proof-store.ts';
import { issueToken, now, verifierOptions } from './local-issuer.ts';
import { refusedWith } from './refused-with.ts';

const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
const publicJwk = await exportJWK(publicKey);
const jkt = await calculateJwkThumbprint(publicJwk);
const platform = { now: () => now };
const dpop = createDpop({ key: { privateKey, publicKey }, platform });
const bound = await issueToken({ cnf: { jkt } });
const unbound = await issueToken();
const [method, path] = ['POST', '/v1/orders?page=2'];
const url = `https://orders.example.com${path}`;
const create = (changes: object = {}) =>
  createVerifier({ ...verifierOptions, ...changes } as VerifierOptions);
const headersOf = (proof: string, token = bound) => ({ authorization: `DPoP ${token}`, dpop: proof });
const requestOf = (proof: string, changes: object = {}) => ({
  method,
  url: path,
  headers: headersOf(proof),
  ...changes,
});
const prove = (changes: object = {}) => dpop.prove({ method, url, accessToken: bound, ...changes });
const refused = refusedWith(401, 'invalid_dpop_proof');

const ath = await hashOf(bound);

describe('a bound token', () => {
  it('200 with a proof, from requests of the web, of Node.js and of Express', async () => {
    const verifier = create();
    const web = new Request(url, { method, headers: headersOf(await prove()) });
    assert.equal((await verifier.verify(web)).keyThumbprint, jkt);
    await verifier.verify(requestOf(await prove()));
    await verifier.verify(requestOf(await prove(), { url: '/orders', originalUrl: path }));
    const rawHeaders = Object.entries(headersOf(await prove())).flat();
    await verifier.verify(requestOf('', { rawHeaders }));
    await verifier.verify(requestOf(await prove(), { url: `http://127.0.0.1:3000${path}` }));
  });

  it('401 invalid_token as Bearer, without a request, and as DPoP if it is not bound; the challenge says DPoP', async () => {
    const verifier = create();
    for (const source of [
      { ...requestOf(await prove()), headers: { authorization: `Bearer ${bound}`, dpop: await prove() } },
      bound,
    ])
      await assert.rejects(verifier.verify(source), (error) => {
        refusedWith(401, 'invalid_token', /bound to a key: present it as DPoP/)(error);
        assert.match((error as TokenError).wwwAuthenticate, /^DPoP error="invalid_token", .*algs="ES256 /);
        return true;
      });
    const headers = headersOf(await prove({ accessToken: unbound }), unbound);
    await assert.rejects(
      verifier.verify({ method, url: path, headers }),
      refusedWith(401, 'invalid_token', /not bound/),
    );
    await verifier.verify({ headers: { authorization: `Bearer ${unbound}` } });
  });

  it("dpop 'require' and 'refuse'", async () => {
    const requires = create({ dpop: 'require' });
    await requires.verify(requestOf(await prove()));
    await assert.rejects(requires.verify(unbound), refusedWith(401, 'invalid_token', /as this API demands/));
    await assert.rejects(requires.verify(new Headers()), (error) => {
      assert.match((error as TokenError).wwwAuthenticate, /^DPoP algs="ES256 ES384 EdDSA /);
      return true;
    });
    const refuses = create({ dpop: 'refuse' });
    await refuses.verify(unbound);
    for (const source of [requestOf(await prove()), bound])
      await assert.rejects(refuses.verify(source), refusedWith(401, 'invalid_token', /does not accept/));
  });

  it('401 invalid_token: cnf without a key', async () => {
    for (const cnf of [{}, null, 'x', { jkt: 1 }, { 'x5t#S256': 'x' }])
      await assert.rejects(
        create().verify(await issueToken({ cnf })),
        refusedWith(401, 'invalid_token', /cnf/),
      );
  });

  it('403 insufficient_scope has a DPoP challenge, too', async () => {
    await assert.rejects(create().verify(requestOf(await prove()), { scopes: 'orders:delete' }), (error) => {
      refusedWith(403, 'insufficient_scope')(error);
      assert.match((error as TokenError).wwwAuthenticate, /^DPoP error="insufficient_scope"/);
      return true;
    });
  });
});

describe('401 invalid_dpop_proof', () => {
  const good = { jti: 'a', htm: method, htu: 'https://orders.example.com/v1/orders', iat: now / 1000, ath };
  const sign = (claims: JWTPayload = {}, header: object = {}, key = privateKey) =>
    new SignJWT({ ...good, ...claims })
      .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk: publicJwk, ...header } as never)
      .sign(key);
  const refusedFor = async (source: Parameters<ReturnType<typeof create>['verify']>[0], name: string) =>
    assert.rejects(create().verify(source), refused, name);

  it('not for the same proof, nor for other spellings of the address', async () => {
    for (const htu of [
      good.htu,
      'HTTPS://ORDERS.example.com:443/v1/orders',
      'https://orders.example.com/%76%31/orders',
    ])
      await create().verify(requestOf(await sign({ htu })));
    const strange = "/@me/a:b/(c),d=1;e'*!$&+|[x]";
    const proof = await sign({ htu: new URL(strange, url).href });
    await create().verify(requestOf(proof, { url: strange }));
    for (const iat of [now / 1000 - 300, now / 1000 + 300])
      await create().verify(requestOf(await sign({ iat })));
  });

  it('for each changed claim', async () => {
    for (const claims of [
      ...['htm', 'htu', 'iat', 'ath', 'jti'].map((name) => ({ [name]: undefined })),
      ...[{ jti: '' }, { jti: 1 }, { jti: 'x'.repeat(257) }],
      ...[{ htm: 'GET' }, { htm: 'post' }],
      { htu: 'https://orders.example.com/v1/other' },
      { htu: 'https://orders.example.com/v1/orders/' },
      { htu: 'https://orders.example.com/V1/orders' },
      { htu: 'http://orders.example.com/v1/orders' },
      { htu: 'https://orders.example.com:8443/v1/orders' },
      { htu: 'https://orders.example.com.evil.example/v1/orders' },
      { htu: 'https://orders.example.com@evil.example/v1/orders' },
      { htu: 'https://user@orders.example.com/v1/orders' },
      { htu: 'https:\\\\orders.example.com\\v1\\orders' },
      { htu: 'https:orders.example.com/v1/orders' },
      { htu: 'https://\uff4frders.example.com/v1/orders' },
      { htu: 'https://orders.example.com/v1/orders?page=2' },
      { htu: '/v1/orders' },
      { htu: [good.htu] },
      ...[
        { iat: now / 1000 - 301 },
        { iat: now / 1000 + 301 },
        { iat: String(now / 1000) },
        { iat: Number.MAX_VALUE },
      ],
      ...[{ ath: await hashOf(unbound) }, { ath: `${ath}=` }, { ath: '' }],
      ...[{ exp: now / 1000 - 1 }, { nbf: now / 1000 + 400 }, { exp: 'x' }],
    ])
      await refusedFor(requestOf(await sign(claims as JWTPayload)), JSON.stringify(claims));
  });

  it('for each changed header, key and signature', async () => {
    const other = await generateKeyPair('ES256', { extractable: true });
    const rsa = await generateKeyPair('RS256', { extractable: true });
    const privateJwk = await exportJWK(privateKey);
    const proofs = {
      'no typ': await sign({}, { typ: undefined }),
      'typ JWT': await sign({}, { typ: 'JWT' }),
      'a private key': await sign({}, { jwk: privateJwk }),
      'no key': await sign({}, { jwk: undefined }),
      'a key as text': await sign({}, { jwk: JSON.stringify(publicJwk) }),
      'the key of another': await sign({}, { jwk: await exportJWK(other.publicKey) }, other.privateKey),
      'signed by another': await sign({}, {}, other.privateKey),
      'another type of key': await sign(
        {},
        { alg: 'RS256', jwk: await exportJWK(rsa.publicKey) },
        rsa.privateKey,
      ),
      symmetric: await new SignJWT(good)
        .setProtectedHeader({ typ: 'dpop+jwt', alg: 'HS256', jwk: publicJwk as JWK })
        .sign(new Uint8Array(32)),
      unsigned: `${encode({ typ: 'dpop+jwt', alg: 'none', jwk: publicJwk })}.${encode(good)}.`,
      'critical header': `${encode({ typ: 'dpop+jwt', alg: 'ES256', jwk: publicJwk, crit: ['x'], x: 1 })}.${encode(good)}.AA`,
      'no JWT': 'x',
      empty: '',
      'too long': 'x'.repeat(9_000),
      'an access token': bound,
    };
    for (const [name, proof] of Object.entries(proofs)) await refusedFor(requestOf(proof), name);
    const [header, payload, signature] = (await sign()).split('.');
    for (const changed of [
      `${header}.${payload}.${signature?.slice(0, -2)}AA`,
      `${header}.${encode({ ...good, jti: 'b' })}.${signature}`,
      `${header}.${payload}`,
      `${header}.${payload}.${signature}.`,
    ])
      await refusedFor(requestOf(changed), changed);
  });

  it('for none or several headers, in every form', async () => {
    const proof = await sign();
    const authorization = `DPoP ${bound}`;
    const twice = new Headers(headersOf(proof));
    twice.append('dpop', await sign({ jti: 'b' }));
    for (const [name, headers] of Object.entries({
      none: { authorization },
      list: { authorization, dpop: [proof, proof] },
      spellings: { authorization, dpop: proof, DPoP: proof },
      joined: { authorization, dpop: `${proof}, ${proof}` },
      web: twice,
    }))
      await refusedFor({ method, url: path, headers }, name);
    const rawHeaders = ['authorization', authorization, 'DPoP', proof, 'dpop', proof];
    await refusedFor({ method, url: path, headers: headersOf(proof), rawHeaders }, 'raw');
  });

  it('for a replay, until the proof expires; 503 if the store fails', async () => {
    const verifier = create();
    const proof = await prove();
    await verifier.verify(requestOf(proof));
    await assert.rejects(
      verifier.verify(requestOf(proof)),
      refusedWith(401, 'invalid_dpop_proof', /used before/),
    );
    const seen = new Set<string>();
    const store = { add: async (id: string) => seen.size < seen.add(id).size };
    const processes = [create({ proofs: { store } }), create({ proofs: { store } })] as const;
    await processes[0].verify(requestOf(proof));
    await assert.rejects(processes[1].verify(requestOf(proof)), refused);
    const failing = create({ proofs: { store: { add: () => Promise.reject(new Error('down')) } } });
    await assert.rejects(failing.verify(requestOf(proof)), refusedWith(503, 'temporarily_unavailable'));
  });

  it('a proof that was refused does not count as used', async () => {
    const verifier = create();
    const proof = await prove();
    await assert.rejects(verifier.verify(requestOf(proof, { method: 'PUT' })), refused);
    await verifier.verify(requestOf(proof));
  });

  it('if the program gives only headers', async () => {
    await refusedFor(new Headers(headersOf(await prove())), 'Headers');
  });
});

describe('content_digest', () => {
  const body = '{"order":"ü"}';
  const bytes = new TextEncoder().encode(body);
  const headers = async (changes = {}) => ({
    ...headersOf(await prove({ body, ...changes })),
    'content-length': '14',
  });

  it('is compared with the raw body: text, bytes, a function, a Request; not with parsed JSON', async () => {
    for (const given of [
      { rawBody: body },
      { rawBody: bytes },
      { rawBody: async () => bytes },
      { body },
      { body: bytes },
      { body: JSON.parse(body) },
    ])
      await create().verify({ method, url: path, headers: await headers(), ...given });
    const request = new Request(url, { method, headers: await headers(), body });
    await create().verify(request);
    assert.equal(await request.text(), body);
    for (const given of [{ rawBody: `${body} ` }, { rawBody: '' }, { body: 'x' }])
      await assert.rejects(
        create().verify({ method, url: path, headers: await headers(), ...given }),
        refused,
      );
    const other = new Request(url, { method, headers: await headers(), body: '{}' });
    await assert.rejects(create().verify(other), refusedWith(401, 'invalid_dpop_proof', /content_digest/));
  });

  it('requireContentDigest: 401 without it, unless the request has no body; TypeError without the raw body', async () => {
    const demanding = create({ proofs: { requireContentDigest: true } });
    await demanding.verify({ method, url: path, headers: await headers(), rawBody: body });
    const without = { method, url: path, headers: await headers({ body: undefined }) };
    await assert.rejects(
      demanding.verify({ ...without, rawBody: body }),
      refusedWith(401, 'invalid_dpop_proof', /needs content_digest/),
    );
    await demanding.verify(requestOf(await prove()));
    await assert.rejects(
      demanding.verify({ method, url: path, headers: await headers(), body: {} }),
      TypeError,
    );
  });
});

describe('proofs.publicUrl', () => {
  const verify = async (
    publicUrl: string | string[] | undefined,
    asked: string,
    seen: string,
    changes = {},
  ) =>
    create({ ...changes, proofs: publicUrl === undefined ? {} : { publicUrl } }).verify({
      method,
      url: seen,
      headers: {
        ...headersOf(await prove({ url: asked })),
        host: new URL(asked).host,
        'x-forwarded-host': new URL(asked).host,
      },
    });

  it('is the origin of the audience by default; a proxy may remove a part of the path; headers do not count', async () => {
    await verify(undefined, url, path);
    await verify('http://127.0.0.1:3000', 'http://127.0.0.1:3000/v1/orders', '/v1/orders');
    await verify('https://example.com/api/', 'https://example.com/api/orders', '/orders');
    await verify(['https://a.example', 'https://b.example'], 'https://b.example/orders', '/orders');
    await assert.rejects(verify(undefined, 'https://evil.example/v1/orders', path), refused);
    await assert.rejects(verify('https://example.com/api', 'https://example.com/orders', '/orders'), refused);
    await assert.rejects(verify(undefined, url, 'https://evil.example/v1/other'), refused);
  });

  it('TypeError for options that are wrong', () => {
    for (const changes of [
      { proofs: { publicUrl: 'orders.example.com' } },
      { proofs: { publicUrl: [] } },
      { dpop: 'yes' },
      { dpop: 'require', audience: 'urn:orders' },
    ])
      assert.throws(() => create(changes), TypeError, JSON.stringify(changes));
    create({ audience: 'urn:orders' });
    create({ dpop: 'require', audience: 'urn:orders', proofs: { publicUrl: 'https://orders.example.com' } });
  });
});

describe('the store of proofs', () => {
  it('is bounded: proofs as old as those that left are refused, newer ones count', () => {
    let time = 0;
    const store = createProofStore({ maxEntries: 3, now: () => time });
    for (const [id, expiresAt] of [
      ['a', 10_000],
      ['b', 10_500],
      ['c', 20_000],
      ['d', 30_000],
    ] as const)
      assert.equal(store.add(id, expiresAt), true, id);
    assert.deepEqual([store.add('a', 10_000), store.add('e', 10_900)], [false, false]);
    assert.deepEqual([store.add('c', 20_000), store.add('f', 11_000)], [false, true]);
    time = 25_000;
    assert.deepEqual(
      [store.add('d', 30_000), store.add('g', 24_000), store.add('h', 25_000)],
      [false, false, true],
    );
  });
});

async function hashOf(token: string): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(token))).toString('base64url');
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
