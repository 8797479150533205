/** Client documents from real servers: their owners are strangers. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { exportJWK } from 'jose';
import { createTestClock } from '../../../test/support/harness.ts';
import { startReceiver, trustTestAuthority } from '../../../test/support/peers/receivers.ts';
import { readPublicKey } from '../../adapters/keys/keys.ts';
import { createOutbound, type OutboundOptions } from '../../adapters/outbound/outbound.ts';
import { readPublishedKeys } from '../agents/keys.ts';
import { createDocuments } from './documents.ts';

trustTestAuthority();

type Respond = (response: ServerResponse) => unknown;
/** By path. */
const pages = new Map<string, Respond>();
const server = await startReceiver(({ url }, response) => void pages.get(url)?.(response));
const requestsOf = (path: string) => server.received.filter(({ url }) => url === path).length;

const clock = createTestClock();
const open = (changes: Partial<OutboundOptions> = {}) =>
  createDocuments({
    clock,
    outbound: createOutbound({
      allowPrivate: false,
      resolve: async () => ['127.0.0.1'],
      isPublic: (address) => address === '127.0.0.1',
      delay: (_, signal) => sleep(50, undefined, { signal }),
      ...changes,
    }),
    readPublishedKeys: (published) => readPublishedKeys(published, readPublicKey),
  });
const documents = open();

let count = 0;
const addressOf = (path: string) => `https://receiver.test:${server.port}${path}`;
const contentOf = (address: string, changes: object = {}) => ({
  client_id: address,
  client_name: 'Example application',
  redirect_uris: ['https://app.example.com/callback'],
  ...changes,
});
const json =
  (content: unknown, headers: Record<string, string> = {}): Respond =>
  (response) =>
    response
      .writeHead(200, { 'content-type': 'application/json', ...headers })
      .end(typeof content === 'string' ? content : JSON.stringify(content));
/** A document at an address of its own. */
const publish = (changes: object = {}, headers: Record<string, string> = {}) => {
  count += 1;
  const path = `/clients/${count}.json`;
  const address = addressOf(path);
  pages.set(path, json(contentOf(address, changes), headers));
  return { path, address };
};
const respond = (respondWith: Respond) => {
  const { path, address } = publish();
  pages.set(path, respondWith);
  return address;
};
const problemOf = async (address: string, from = documents): Promise<string> => {
  const answer = await from.get(address);
  assert.ok('problem' in answer, `${address}: ${JSON.stringify(answer)}`);
  return answer.problem;
};
const documentOf = async (address: string, from = documents) => {
  const answer = await from.get(address);
  assert.ok(!('problem' in answer), JSON.stringify(answer));
  return answer;
};

const publicKeyOf = async (namedCurve = 'P-256') =>
  exportJWK(generateKeyPairSync('ec', { namedCurve }).publicKey);

describe('a client document', () => {
  it('gives the name, the redirect URIs and the kind of client', async () => {
    const { address, path } = publish({
      redirect_uris: ['https://app.example.com/callback', 'http://127.0.0.1/callback'],
      software_version: '2.1.0',
      logo_uri: 'https://app.example.com/logo.png',
    });
    assert.deepEqual(await documentOf(address), {
      name: 'Example application',
      redirectUris: ['https://app.example.com/callback', 'http://127.0.0.1/callback'],
      publicClient: true,
      dpopBoundAccessTokens: false,
      softwareVersion: '2.1.0',
      keys: [],
    });
    const request = server.received.find(({ url }) => url === path);
    assert.equal(request?.headers.accept, 'application/json');
  });

  it('leaves out redirect URIs that we would not redirect to, but needs one of the others', async () => {
    const { address } = publish({
      redirect_uris: [
        'app://callback',
        'http://app.example.com/',
        'https://app.example.com/',
        'https://app.example.com/',
      ],
    });
    assert.deepEqual((await documentOf(address)).redirectUris, ['https://app.example.com/']);
  });

  const unusable: [string, object, RegExp][] = [
    ['another client_id', { client_id: 'https://other.example/client.json' }, /another client_id/],
    ['no client_id', { client_id: undefined }, /another client_id/],
    ['a client_secret', { client_secret: 's3cret' }, /client_secret/],
    ['client_secret_expires_at', { client_secret_expires_at: 0 }, /client_secret/],
    ['no client_name', { client_name: undefined }, /client_name/],
    ['a client_name that is no text', { client_name: ['x'] }, /client_name/],
    ['a client_name without a visible character', { client_name: '\u202e\u200b \u0007' }, /client_name/],
    ['no redirect_uris', { redirect_uris: undefined }, /redirect_uris/],
    ['an empty list of redirect_uris', { redirect_uris: [] }, /redirect_uris/],
    ['redirect_uris that are no texts', { redirect_uris: [{}] }, /redirect_uris/],
    ['only redirect_uris of other kinds', { redirect_uris: ['javascript:alert(1)'] }, /redirect_uris/],
    [
      '21 redirect_uris',
      { redirect_uris: Array.from({ length: 21 }, (_, n) => `https://app.example.com/${n}`) },
      /more than 20/,
    ],
    ['client_secret_basic', { token_endpoint_auth_method: 'client_secret_basic' }, /auth_method/],
    ['client_secret_jwt', { token_endpoint_auth_method: 'client_secret_jwt' }, /auth_method/],
    ['tls_client_auth', { token_endpoint_auth_method: 'tls_client_auth' }, /auth_method/],
    ['private_key_jwt without keys', { token_endpoint_auth_method: 'private_key_jwt' }, /jwks/],
    [
      'private_key_jwt with an empty key set',
      { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [] } },
      /no key/,
    ],
    [
      'a symmetric key',
      { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [{ kty: 'oct', k: 'c2VjcmV0' }] } },
      /no key/,
    ],
    [
      'a jwks_uri without TLS',
      { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'http://receiver.test/keys' },
      /jwks_uri/,
    ],
  ];
  for (const [what, changes, expected] of unusable)
    it(`is refused with ${what}`, async () => {
      assert.match(await problemOf(publish(changes).address), expected);
    });

  it('is refused with an RSA key of 1024 bits', async () => {
    const jwk = await exportJWK(generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey);
    const { address } = publish({ token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [jwk] } });
    assert.match(await problemOf(address), /no key/);
  });

  it('shows its name as text: without control and bidirectional characters, cut at 100 characters', async () => {
    const names: [string, string][] = [
      ['<b onclick="x()">Claude</b>', '<b onclick="x()">Claude</b>'],
      ['Evil \u202eediualC\u202c app', 'Evil ediualC app'],
      ['  Line\r\nbreak\u0000\u2066 \ufeff', 'Line break'],
      ['Half \ud83e a fox', 'Half \ufffd a fox'],
      ['x'.repeat(300), 'x'.repeat(100)],
      ['🦊'.repeat(120), '🦊'.repeat(100)],
    ];
    for (const [given, shown] of names)
      assert.equal((await documentOf(publish({ client_name: given }).address)).name, shown);
  });

  it('takes a software_version only if it is a semantic version', async () => {
    for (const version of ['v1', '1.0', '1.0.0 <script>', 7, `1.0.${'1'.repeat(80)}`])
      assert.equal((await documentOf(publish({ software_version: version }).address)).softwareVersion, null);
  });
});

describe('the answer of the server', () => {
  const refused: [string, Respond, RegExp][] = [
    ['404', (response) => response.writeHead(404).end('{}'), /status 404/],
    [
      '206',
      (response) => response.writeHead(206, { 'content-type': 'application/json' }).end('{}'),
      /status 206/,
    ],
    ['HTML', json('<!doctype html>', { 'content-type': 'text/html' }), /application\/json/],
    ['no content type', (response) => response.writeHead(200).end('{}'), /application\/json/],
    [
      'a type that only begins like JSON',
      json('{}', { 'content-type': 'application/jsonp' }),
      /application\/json/,
    ],
    ['no JSON', json('{"client_id":'), /not JSON/],
    ['a list', json('[]'), /no JSON object/],
    ['null', json('null'), /no JSON object/],
    [
      'bytes that are no UTF-8',
      (response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end(Buffer.from([0x22, 0xff, 0x22])),
      /not JSON/,
    ],
    ['a reset', (response) => response.destroy(), /could not be fetched/],
  ];
  for (const [what, answer, expected] of refused)
    it(`is refused: ${what}`, async () => assert.match(await problemOf(respond(answer)), expected));

  it('is refused: a redirect, which is not followed', async () => {
    const target = publish();
    const address = respond((response) => response.writeHead(302, { location: target.address }).end());
    assert.match(await problemOf(address), /status 302/);
    assert.equal(requestsOf(target.path), 0);
  });

  it('is refused: 6 KB, and with 5 KiB it is used', async () => {
    const ofSize = (bytes: number) => {
      const { path, address } = publish();
      const content = JSON.stringify(contentOf(address));
      pages.set(path, json(content + ' '.repeat(bytes - content.length)));
      return address;
    };
    assert.match(await problemOf(ofSize(6_000)), /longer than 5120 bytes/);
    assert.match(await problemOf(ofSize(5_121)), /longer than 5120 bytes/);
    await documentOf(ofSize(5_120));
  });

  it('is refused: a drip that takes longer than 5 seconds', async () => {
    const address = respond((response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const drip = setInterval(() => response.write(' '), 100);
      response.on('close', () => clearInterval(drip));
    });
    assert.match(await problemOf(address), /did not answer in full within 5000 ms/);
  });

  it('is not asked for: a private address, by name or literally', async () => {
    const guarded = open({ resolve: async () => ['10.0.0.7'] });
    const { address, path } = publish();
    await problemOf(address, guarded);
    await problemOf(`https://127.0.0.2:${server.port}${path}`);
    await problemOf(`https://169.254.169.254${path}`, guarded);
    assert.equal(requestsOf(path), 0);
  });

  it('is refused with the same words: a closed port, another protocol, a certificate for another name', async () => {
    const plain = await startReceiver(undefined, { tls: false });
    const { port } = await startReceiver();
    const closed = await startReceiver();
    await closed.close();
    const problems = await Promise.all(
      [
        `https://receiver.test:${closed.port}/client`,
        `https://receiver.test:${plain.port}/client`,
        `https://other.test:${port}/client`,
      ].map((address) => problemOf(address)),
    );
    assert.equal(new Set(problems).size, 1, problems.join());
  });

  it('takes +json types', async () => {
    const { address } = publish({}, { 'content-type': 'application/oauth-client+json; charset=utf-8' });
    await documentOf(address);
  });
});

describe('keys of a client document', () => {
  it('come from jwks; keys for other uses and unknown members are left out', async () => {
    const [signing, encrypting] = [await publicKeyOf(), await publicKeyOf()];
    const { address } = publish({
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: {
        keys: [
          { ...encrypting, use: 'enc' },
          { kty: 'EC', crv: 'secp256k1', x: signing.x, y: signing.y },
          null,
          'key',
          { ...signing, kid: 'one', use: 'sig', 'x5t#S256': 'abc' },
          { ...encrypting, kid: 'one' },
          { ...encrypting, kid: 'badge' },
        ],
      },
    });
    const document = await documentOf(address);
    assert.equal(document.publicClient, false);
    assert.deepEqual(document.keys, [{ ...signing, kid: 'one', use: 'sig' }]);
  });

  it('come from jwks_uri, without redirects and bounded', async () => {
    const key = { ...(await publicKeyOf()), kid: 'k' };
    const withKeys = (answer: Respond) => {
      const keys = respond(answer);
      return publish({ token_endpoint_auth_method: 'private_key_jwt', jwks_uri: keys }).address;
    };
    const good = json({ keys: [key] });
    assert.deepEqual((await documentOf(withKeys(good))).keys, [key]);
    const elsewhere = respond(good);
    await problemOf(withKeys((response) => response.writeHead(301, { location: elsewhere }).end()));
    await problemOf(withKeys(json({ keys: [key], more: 'x'.repeat(70_000) })));
    await problemOf(withKeys(json('nothing')));
    assert.match(await problemOf(withKeys((response) => response.writeHead(500).end())), /jwks_uri that was/);
  });

  it('at most ten are stored', async () => {
    const keys = await Promise.all(Array.from({ length: 12 }, async () => publicKeyOf()));
    const jwksUri = respond(json({ keys }));
    const { address } = publish({ token_endpoint_auth_method: 'private_key_jwt', jwks_uri: jwksUri });
    assert.equal((await documentOf(address)).keys.length, 10);
  });
});

describe('the cache', () => {
  const seconds = (count: number) => clock.advance(count * 1_000);

  it('keeps a document as long as its server says, and at least a minute, at most a day', async () => {
    const cases: [Record<string, string>, number][] = [
      [{}, 60],
      [{ 'cache-control': 'no-store' }, 60],
      [{ 'cache-control': 'max-age=10' }, 60],
      [{ 'cache-control': 'private, max-age=600' }, 600],
      [{ 'cache-control': 'max-age=600', age: '300' }, 300],
      [{ 'cache-control': 'max-age=99999999' }, 86_400],
    ];
    for (const [headers, lifetime] of cases) {
      const { address, path } = publish({}, headers);
      await documentOf(address);
      seconds(lifetime - 5);
      await documentOf(address);
      assert.equal(requestsOf(path), 1, JSON.stringify(headers));
      seconds(10);
      await documentOf(address);
      assert.equal(requestsOf(path), 2, JSON.stringify(headers));
    }
  });

  it('keeps a document no longer than its keys', async () => {
    const keys = respond(json({ keys: [await publicKeyOf()] }, { 'cache-control': 'max-age=120' }));
    const { address, path } = publish(
      { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: keys },
      { 'cache-control': 'max-age=3600' },
    );
    await documentOf(address);
    seconds(125);
    await documentOf(address);
    assert.equal(requestsOf(path), 2);
  });

  it('keeps no failure, and does not use an old document after one', async () => {
    const { address, path } = publish();
    const good = pages.get(path) as Respond;
    await documentOf(address);
    seconds(65);
    pages.set(path, (response) => response.writeHead(500).end());
    await problemOf(address);
    await problemOf(address);
    assert.equal(requestsOf(path), 3);
    pages.set(path, good);
    await documentOf(address);
  });

  it('asks once for many requests at a time', async () => {
    const { address, path } = publish();
    const good = pages.get(path) as Respond;
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    pages.set(path, async (response) => {
      await held;
      good(response);
    });
    const all = Promise.all(Array.from({ length: 30 }, () => documentOf(address)));
    release();
    const [first, ...others] = await all;
    assert.ok(others.every((document) => document === first));
    assert.equal(requestsOf(path), 1);
  });

  it('asks one host for two documents at a time; those that find no place are refused', async () => {
    let open = 0;
    let most = 0;
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const slow: Respond = async (response) => {
      open += 1;
      most = Math.max(most, open);
      await held;
      open -= 1;
      response.writeHead(404).end();
    };
    const answers = Array.from({ length: 40 }, () => problemOf(respond(slow)));
    assert.match(await Promise.race(answers), /Too many/);
    for (let waited = 0; open < 2 && waited < 4_000; waited += 10) await sleep(10);
    release();
    const problems = await Promise.all(answers);
    assert.equal(most, 2);
    assert.ok(problems.filter((problem) => /Too many/.test(problem)).length >= 18);
  });
});
