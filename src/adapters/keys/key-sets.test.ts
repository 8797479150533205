/** The key-set cache through POST /federation/verify: how often an issuer gets a request, and which responses are valid. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { exportJWK, SignJWT } from 'jose';
import { startApp } from '../../../test/support/harness.ts';
import { type Issuer, makeKey, startIssuer } from '../../../test/support/peers/issuers.ts';
import { createLog } from '../../kernel/observability/log.ts';
import { createOutbound } from '../outbound/outbound.ts';
import { createKeySets } from './key-sets.ts';

const t = await startApp({ WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true' });
const operator = { ...t.operator };
const url = '/api/v1/federation';

const trust = async (issuer: string, jwksUri: string, app = t) => {
  const payload = { name: 'Partner', issuer, jwksUri };
  const { status } = await app.call('POST', `${url}/trust`, { token: await app.token(), payload });
  assert.equal(status, 201);
};
const partner = async (alg?: string): Promise<Issuer> => {
  const issuer = await startIssuer(t.clock, alg);
  await trust(issuer.url, issuer.jwksUri);
  return issuer;
};
/** `valid`, or the reason. */
const verdict = async (token: string, app = t): Promise<string> => {
  const bearer = await app.token(undefined, app === t ? operator : app.operator);
  const { status, json } = await app.call('POST', `${url}/verify`, { token: bearer, payload: { token } });
  assert.equal(status, 200);
  return json.valid ? 'valid' : json.reason;
};
const fetches = (issuer: Issuer) => issuer.requestCounts['/jwks'] ?? 0;
const coolDown = 30_001;

describe('requests to an issuer', () => {
  it('one for many tokens, and another when the cached keys expire', async () => {
    const issuer = await partner();
    for (let count = 0; count < 5; count += 1) assert.equal(await verdict(await issuer.sign()), 'valid');
    assert.equal(fetches(issuer), 1);
    t.clock.advance(600_001);
    assert.equal(await verdict(await issuer.sign()), 'valid');
    assert.equal(fetches(issuer), 2);
  });
  it('one for a hundred concurrent tokens', async () => {
    const issuer = await partner();
    const tokens = await Promise.all(Array.from({ length: 100 }, () => issuer.sign()));
    const verdicts = await Promise.all(tokens.map((token) => verdict(token)));
    assert.deepEqual(new Set(verdicts), new Set(['valid']));
    assert.equal(fetches(issuer), 1);
  });
  it('at most one per cool-down for many unknown kids; known ones keep working', async () => {
    const issuer = await partner();
    assert.equal(await verdict(await issuer.sign()), 'valid');
    const spray = async () => {
      const tokens = Array.from({ length: 60 }, () =>
        issuer.sign({}, { header: { kid: crypto.randomUUID() } }),
      );
      const verdicts = await Promise.all((await Promise.all(tokens)).map((token) => verdict(token)));
      assert.deepEqual(new Set(verdicts), new Set(['unknown_key']));
    };
    await spray();
    assert.equal(fetches(issuer), 1);
    t.clock.advance(coolDown);
    await spray();
    await spray();
    assert.equal(fetches(issuer), 2);
    assert.equal(await verdict(await issuer.sign()), 'valid');
  });
  it('a rotated key works after the cool-down, and the old one no longer', async () => {
    const issuer = await partner();
    const old = await issuer.sign();
    assert.equal(await verdict(old), 'valid');
    issuer.keys = [await makeKey()];
    assert.equal(await verdict(await issuer.sign()), 'unknown_key');
    t.clock.advance(coolDown);
    assert.equal(await verdict(await issuer.sign()), 'valid');
    assert.equal(await verdict(old), 'unknown_key');
  });
  for (const [said, freshMs] of [
    ['max-age=120', 120_000],
    ['public, max-age=5', 60_000],
    ['no-store', 60_000],
    ['max-age=999999999', 3_600_000],
    ['max-age=banana', 600_000],
  ] as const) {
    it(`Cache-Control: ${said} is honoured within bounds: ${freshMs / 1000} s`, async () => {
      const issuer = await partner();
      issuer.cacheControl = said;
      assert.equal(await verdict(await issuer.sign()), 'valid');
      t.clock.advance(freshMs - 30_000);
      assert.equal(await verdict(await issuer.sign()), 'valid');
      assert.equal(fetches(issuer), 1);
      t.clock.advance(31_000);
      assert.equal(await verdict(await issuer.sign()), 'valid');
      assert.equal(fetches(issuer), 2);
    });
  }
  it('exponential backoff while it fails; its last keys stay valid for one hour more', async () => {
    const issuer = await partner();
    assert.equal(await verdict(await issuer.sign()), 'valid');
    issuer.handlerOverride = (_, response) => void response.writeHead(500).end();
    t.clock.advance(600_001);
    const askedAfter = async (ms: number) => {
      t.clock.advance(ms);
      assert.equal(await verdict(await issuer.sign()), 'valid');
      return fetches(issuer);
    };
    assert.deepEqual(
      [await askedAfter(0), await askedAfter(1_000), await askedAfter(4_100), await askedAfter(1_000)],
      [2, 2, 3, 3],
    );
    t.clock.advance(3_600_000);
    assert.equal(await verdict(await issuer.sign()), 'keys_unavailable');
    issuer.handlerOverride = undefined;
    t.clock.advance(60_001);
    assert.equal(await verdict(await issuer.sign()), 'valid');
  });
  it('backoff for an issuer that never answered', async () => {
    const issuer = await partner();
    issuer.handlerOverride = (_, response) => void response.writeHead(503).end();
    for (let count = 0; count < 20; count += 1)
      assert.equal(await verdict(await issuer.sign()), 'keys_unavailable');
    assert.equal(fetches(issuer), 1);
  });
});

describe('a slow issuer', () => {
  it('has the same backoff as one that fails at once', async () => {
    const issuer = await partner();
    issuer.handlerOverride = (_, response) => {
      t.clock.advance(5_001);
      response.writeHead(503).end();
    };
    for (let count = 0; count < 3; count += 1)
      assert.equal(await verdict(await issuer.sign()), 'keys_unavailable');
    assert.equal(fetches(issuer), 1);
  });
});

describe('responses of an issuer', () => {
  const answers: [string, (issuer: Issuer) => Issuer['handlerOverride']][] = [
    [
      '50 MB',
      () => (_, response) => {
        let left = 800;
        const chunk = Buffer.alloc(64 * 1024, ' ');
        const more = () => {
          while (left > 0 && response.write(chunk)) left -= 1;
          if (left > 0) response.once('drain', more);
          else response.end();
        };
        more();
      },
    ],
    [
      '10,000 keys',
      () => (_, response) => void response.end(JSON.stringify({ keys: Array(10_000).fill({ kty: 'EC' }) })),
    ],
    [
      '101 keys, ours among them',
      (issuer) => (_, response) => {
        const keys = [issuer.keys[0]?.publicJwk, ...Array.from({ length: 100 }, () => ({ kty: 'EC' }))];
        response.end(JSON.stringify({ keys }));
      },
    ],
    ['no JSON', () => (_, response) => void response.end('<html>')],
    ['JSON null', () => (_, response) => void response.end('null')],
    ['no list of keys', () => (_, response) => void response.end('{"keys":{}}')],
    ['nothing usable in the list', () => (_, response) => void response.end('{"keys":[null,7,"x",{},[]]}')],
    ['JSON that is nested 100,000 deep', () => (_, response) => void response.end('['.repeat(100_000))],
    ['404', () => (_, response) => void response.writeHead(404).end()],
    [
      'an error halfway',
      () => (_, response) => {
        response.writeHead(200, { 'content-length': '1000' }).write('{"keys":[');
        setTimeout(() => response.destroy(), 20);
      },
    ],
  ];
  for (const [what, answering] of answers) {
    it(`keys_unavailable for ${what}`, async () => {
      const issuer = await partner();
      issuer.handlerOverride = answering(issuer);
      assert.equal(await verdict(await issuer.sign()), 'keys_unavailable');
    });
  }
  it('keys_unavailable for a redirect, which is not followed', async () => {
    const [issuer, elsewhere] = [await partner(), await startIssuer(t.clock)];
    elsewhere.keys = issuer.keys;
    issuer.handlerOverride = (_, response) =>
      void response.writeHead(302, { location: elsewhere.jwksUri }).end();
    assert.equal(await verdict(await issuer.sign()), 'keys_unavailable');
    assert.equal(elsewhere.connections(), 0);
  });
  it('keys_unavailable for a response sent byte by byte; other issuers are not delayed', async () => {
    const issuer = await partner();
    issuer.handlerOverride = (_, response) => {
      const drip = setInterval(() => response.write(' '), 200);
      response.on('close', () => clearInterval(drip));
    };
    const slow = verdict(await issuer.sign());
    const other = await partner();
    assert.equal(await verdict(await other.sign()), 'valid');
    assert.equal(await slow, 'keys_unavailable');
  });
  it('weak, symmetric and unsuitable keys are ignored; a good one beside them works', async () => {
    const issuer = await partner('RS256');
    const good = issuer.keys[0] as (typeof issuer.keys)[0];
    const weak = await makeKey('RS256', { bits: 1024 });
    const encryption = await makeKey('RS256');
    const shared = Buffer.alloc(64, 7);
    const identity = Buffer.alloc(32);
    identity[0] = 1;
    const jwks = [
      weak.publicJwk,
      { ...encryption.publicJwk, use: 'enc' },
      { kty: 'oct', k: shared.toString('base64url'), kid: 'oct', alg: 'HS256' },
      { ...good.publicJwk, kid: 'exponent-1', e: 'AQ' },
      { kty: 'OKP', crv: 'Ed25519', x: identity.toString('base64url'), kid: 'small-order' },
      { ...good.publicJwk, kid: 'even', n: `${good.publicJwk.n?.slice(0, -4)}AAAA` },
      good.publicJwk,
    ];
    issuer.handlerOverride = (_, response) => void response.end(JSON.stringify({ keys: jwks }));
    assert.equal(await verdict(await issuer.sign()), 'valid');
    // jose refuses to sign with 1024 bits, so the signature is invalid: the key must be refused first.
    assert.equal(await verdict(await issuer.sign({}, { header: { kid: weak.kid } })), 'unknown_key');
    assert.equal(await verdict(await issuer.sign({}, { key: encryption })), 'unknown_key');
    for (const kid of ['oct', 'exponent-1', 'even'])
      assert.equal(await verdict(await issuer.sign({}, { header: { kid } })), 'unknown_key', kid);
    const ed25519 = await makeKey('EdDSA');
    assert.equal(
      await verdict(await issuer.sign({}, { key: { ...ed25519, kid: 'small-order' } })),
      'unknown_key',
    );
    const hs256 = await new SignJWT({ iss: issuer.url, exp: Math.floor(t.clock.now() / 1000) + 60 })
      .setProtectedHeader({ alg: 'HS256', kid: 'oct' })
      .sign(shared);
    assert.equal(await verdict(hs256), 'algorithm_not_allowed');
  });
  it('private members are not read; two keys with one kid are ambiguous and unusable', async () => {
    const issuer = await partner();
    const key = issuer.keys[0] as (typeof issuer.keys)[0];
    const whole = { ...(await exportJWK(key.privateKey)), kid: key.kid };
    issuer.handlerOverride = (_, response) => void response.end(JSON.stringify({ keys: [whole] }));
    assert.equal(await verdict(await issuer.sign()), 'valid');
    const twin = {
      ...(await exportJWK(generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey)),
      kid: key.kid,
    };
    issuer.handlerOverride = (_, response) =>
      void response.end(JSON.stringify({ keys: [twin, key.publicJwk] }));
    t.clock.advance(600_001);
    assert.equal(await verdict(await issuer.sign()), 'unknown_key');
  });
});

describe('an instance that must not call private addresses', () => {
  it('keys_unavailable, and no connection, for a key set at a loopback address', async () => {
    const closed = await startApp();
    const canary = await startIssuer(closed.clock);
    const { port } = new URL(canary.url);
    for (const host of ['127.0.0.1', 'localhost', '2130706433', '[::ffff:127.0.0.1]', '0x7f.1']) {
      const issuer = `https://${crypto.randomUUID()}.example`;
      await trust(issuer, `https://${host}:${port}/jwks`, closed);
      assert.equal(await verdict(await canary.sign({ iss: issuer }), closed), 'keys_unavailable', host);
    }
    assert.equal(canary.connections(), 0);
  });
});

it('the log has the reason of a failed request, including details that the API hides', async () => {
  const lines: string[] = [];
  const keySets = createKeySets({
    outbound: createOutbound({ allowPrivate: false, resolve: async () => ['10.0.0.7'] }),
    clock: t.clock,
    log: createLog({ level: 'warn', destination: { write: (line) => void lines.push(line) } }),
    allowHttp: false,
  });
  const source = { issuer: 'https://sso.corp.example', jwksUri: null };
  const found = await keySets.find(source, { algorithm: 'RS256', keyId: undefined });
  assert.equal(found, 'keys_unavailable');
  assert.match(lines.join(''), /"problem":"sso.corp.example is not on the public internet"/);
});
