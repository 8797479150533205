import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { exportJWK, generateKeyPair } from 'jose';
import { createTestClock } from '../../../test/support/harness.ts';
import {
  createProver,
  hashOfToken,
  issuer,
  type ProofParts,
  proofMutations,
  tokenAddress,
} from '../../../test/support/scenarios/dpop.ts';
import type { ExpectedProof } from '../../kernel/ports/possession.ts';
import { createPossession } from './dpop.ts';

const clock = createTestClock();
const { privateKey } = generateKeyPairSync('ed25519');
const possession = createPossession({ clock, privateKey, requireNonce: false });
const strict = createPossession({ clock, privateKey, requireNonce: true });
const prover = await createProver({ clock });

const atToken: ExpectedProof = { method: 'POST', url: tokenAddress };
const verify = async (parts: ProofParts = {}, expected: Partial<ExpectedProof> = {}, by = prover) =>
  possession.verify(await by.proof(parts), { ...atToken, ...expected });
const errorOf = async (result: ReturnType<typeof possession.verify>) => {
  const made = await result;
  return 'error' in made ? made.error : 'none';
};

describe('a valid proof', () => {
  for (const alg of possession.algorithms)
    it(`has the thumbprint of its key: ${alg}`, async () => {
      const own = await createProver({ clock }, alg);
      // The second one finds its key in the cache.
      for (let count = 0; count < 2; count += 1) {
        const verified = await verify({}, {}, own);
        assert.ok('thumbprint' in verified, JSON.stringify(verified));
        assert.equal(verified.thumbprint, own.jkt);
        assert.match(verified.proofId, /^[0-9a-f]{32}$/);
      }
    });
  it('is known again by its key and jti alone', async () => {
    const ids = new Set<string>();
    const add = async (claims: object, by = prover) => {
      const verified = await verify({ claims: { jti: 'one', ...claims } }, {}, by);
      ids.add('proofId' in verified ? verified.proofId : JSON.stringify(verified));
    };
    await add({});
    await add({ iat: Math.floor(clock.now() / 1_000) - 5 });
    assert.equal(ids.size, 1);
    await add({ jti: 'two' });
    await add({}, await createProver({ clock }));
    assert.equal(ids.size, 3);
  });
  it('may have further members of the jwk, headers and claims', async () => {
    const jwk = { ...prover.jwk, kid: 'a', ext: true, key_ops: ['verify'], use: 'sig' };
    const verified = await verify({ header: { jwk, kid: 'b' }, claims: { content_digest: 'sha-256=:x:' } });
    assert.ok('thumbprint' in verified && verified.thumbprint === prover.jkt, JSON.stringify(verified));
  });
  for (const [what, age] of [
    ['298 seconds ago', 298],
    ['in 298 seconds', -298],
  ] as const)
    it(`may have an iat ${what}`, async () => {
      const iat = Math.floor(clock.now() / 1_000) - age;
      assert.equal(await errorOf(verify({ claims: { iat } })), 'none');
    });
});

describe('htu', () => {
  const cases: [string, string, boolean][] = [
    ['HTTP://Countersign.TEST/api/v1/token', tokenAddress, true],
    ['http://countersign.test:80/api/v1/token', tokenAddress, true],
    ['http://countersign.test/api/./v1/x/../token', tokenAddress, true],
    ['http://countersign.test/api/v1/%74oken', tokenAddress, true],
    ['http://countersign.test/api/v1/Token', tokenAddress, false],
    [issuer, `${issuer}/`, true],
    [`${issuer}/a%2fb`, `${issuer}/a%2Fb`, true],
    [`${issuer}/a%2Fb`, `${issuer}/a/b`, false],
    ['HTTP://countersign.test/@me/~a:b;c=1,(d)', `${issuer}/@me/~a:b;c=1,(d)`, true],
    ['http://[::1]:80/a', 'http://[::1]/a', true],
    ['http:countersign.test/api/v1/token', tokenAddress, false],
    [`${issuer}/agents`, `${issuer}/agents?limit=1#a`, true],
    ['countersign.test/api/v1/token', tokenAddress, false],
  ];
  for (const [htu, url, isSame] of cases)
    it(`${htu} ${isSame ? 'is' : 'is not'} ${url}`, async () =>
      assert.equal((await errorOf(verify({ claims: { htu } }, { url }))) === 'none', isSame));
});

describe('a proof beside an access token', () => {
  const accessToken = 'token';
  const expected = { accessToken, thumbprint: prover.jkt };
  const ath = hashOfToken(accessToken);
  it('has its hash and its key', async () =>
    assert.equal(await errorOf(verify({ claims: { ath } }, expected)), 'none'));
  for (const [what, claims] of [
    ['no ath', {}],
    ['the hash of another token', { ath: hashOfToken('other') }],
    ['the token itself', { ath: accessToken }],
  ] as const)
    it(`invalid_dpop_proof for ${what}`, async () =>
      assert.equal(await errorOf(verify({ claims }, expected)), 'invalid_dpop_proof'));
  it('invalid_dpop_proof for another key', async () => {
    const other = await createProver({ clock });
    assert.equal(await errorOf(verify({ claims: { ath } }, expected, other)), 'invalid_dpop_proof');
  });
});

describe('every mutation of a valid proof', () => {
  const base = { htm: 'POST', htu: tokenAddress };
  for (const { what, make, error = 'invalid_dpop_proof' } of proofMutations({ clock })) {
    it(`${error} for ${what}, with and without the key in the cache`, async () => {
      for (const by of [prover, await createProver({ clock })])
        assert.equal(await errorOf(possession.verify(await make(by, base), atToken)), error);
    });
  }
  it('invalid_dpop_proof for weak RSA keys', async () => {
    const weak = generateKeyPairSync('rsa', { modulusLength: 1_024 });
    const jwk = await exportJWK(weak.publicKey);
    const { n, e } = await exportJWK((await generateKeyPair('RS256', { extractable: true })).publicKey);
    for (const key of [jwk, { kty: 'RSA', n, e: 'AQ' }, { kty: 'RSA', n, e: 'A'.repeat(20) + e }])
      assert.equal(await errorOf(verify({ header: { jwk: key } })), 'invalid_dpop_proof');
  });
  it('says of a key what it must be, whatever the name of its type', async () => {
    for (const kty of ['__proto__', 'constructor', 'toString', 'EC2']) {
      const refusal = await verify({ header: { jwk: { ...prover.jwk, kty } } });
      const reason = `the jwk of the proof is of type ${kty}; RSA, EC and OKP can be used`;
      assert.equal('reason' in refusal && refusal.reason, reason);
    }
  });
  it('invalid_dpop_proof for an Ed25519 key of small order, whose signatures anyone makes', async () => {
    const own = await createProver({ clock }, 'EdDSA');
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: Buffer.alloc(32).toString('base64url') };
    assert.equal(await errorOf(verify({ header: { jwk } }, {}, own)), 'invalid_dpop_proof');
  });
});

describe('nonces', () => {
  const ask = async (nonce: string | undefined, by = strict) =>
    errorOf(by.verify(await prover.proof({ claims: { nonce } }), atToken));
  it('use_dpop_nonce without one, if it is required', async () => {
    assert.equal(await ask(undefined), 'use_dpop_nonce');
    assert.equal(await ask(undefined, possession), 'none');
  });
  it('one of ours is accepted for five minutes, by every node with the same key', async () => {
    const nonce = possession.nonce();
    for (const by of [strict, possession]) assert.equal(await ask(nonce, by), 'none');
    clock.advance(280_000);
    assert.equal(await ask(nonce), 'none');
    clock.advance(21_000);
    for (const by of [strict, possession]) assert.equal(await ask(nonce, by), 'use_dpop_nonce');
  });
  it('use_dpop_nonce for one of ours that was last given out long ago', async () => {
    const quiet = createPossession({ clock, privateKey, requireNonce: true });
    const nonce = quiet.nonce();
    clock.advance(400_000);
    assert.equal(await ask(nonce, quiet), 'use_dpop_nonce');
  });
  it('use_dpop_nonce for one of a node with another key, and one from the future', async () => {
    const other = createPossession({
      clock,
      privateKey: generateKeyPairSync('ed25519').privateKey,
      requireNonce: true,
    });
    assert.equal(await ask(other.nonce()), 'use_dpop_nonce');
    clock.advance(70_000);
    const ahead = strict.nonce();
    clock.advance(-80_000);
    assert.equal(await ask(ahead), 'use_dpop_nonce');
    clock.advance(10_000);
  });
  it('each part of it is authenticated', async () => {
    const nonce = strict.nonce();
    for (let at = 0; at < nonce.length; at += 1) {
      const changed = `${nonce.slice(0, at)}${nonce[at] === 'B' ? 'C' : 'B'}${nonce.slice(at + 1)}`;
      assert.equal(await ask(changed), 'use_dpop_nonce', String(at));
    }
  });
});
