/** The token cache, and token endpoints that misbehave. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, it } from 'node:test';
import { ApiError, ConnectionError, createClient } from '../src/sdk.ts';
import { issue, json, startMisbehaving, tokenPath } from './misbehaving-server.ts';

describe('the token cache', () => {
  it('refreshes at 80 % of the lifetime, with jitter', async (t) => {
    for (const [random, share] of [
      [0, 0.75],
      [0.5, 0.8],
      [0.999, 0.8499],
    ] as const) {
      const { client, time } = await startMisbehaving(t, (_, response, count) => issue(response, count));
      time.random = random;
      assert.equal(await client.token(), 'token-1');
      time.now += share * 3_600_000 - 1_000;
      assert.equal(await client.token(), 'token-1');
      time.now += 2_000;
      assert.equal(await client.token(), 'token-2');
    }
  });

  it('is by resource, scope and chain', async (t) => {
    const { client, seen } = await startMisbehaving(t, (_, response, count) => issue(response, count));
    const wanted = [
      {},
      { scope: 'a' },
      { resource: 'https://api.example' },
      { resource: 'https://api.example', scope: 'a' },
    ];
    const tokens: string[] = [];
    for (const each of [client, client.redeem('chain-1'), client.redeem('chain-2')])
      for (const one of wanted) tokens.push(await each.token(one), await each.token(one));
    assert.equal(new Set(tokens).size, 12);
    assert.equal(seen.length, 12);
    const form = new URLSearchParams(seen[7]?.body);
    assert.deepEqual(Object.fromEntries(form), {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: 'chain-1',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      resource: 'https://api.example',
      scope: 'a',
      client_id: 'agent',
      client_secret: 'secret',
    });
  });

  it('keeps a bounded number of tokens', async (t) => {
    const { client, countOf } = await startMisbehaving(t, (_, response, count) => issue(response, count));
    for (let count = 0; count < 1_050; count += 50)
      await Promise.all(
        Array.from({ length: 50 }, (_, index) => client.redeem(`chain-${count + index}`).token()),
      );
    assert.equal(countOf(tokenPath), 1_050);
    await client.redeem('chain-1049').token();
    assert.equal(countOf(tokenPath), 1_050);
    await client.redeem('chain-0').token();
    assert.equal(countOf(tokenPath), 1_051);
  });

  it('does not cache a failure, and shares it', async (t) => {
    const { client, countOf } = await startMisbehaving(t, (_, response, count) =>
      count === 1 ? json(response, 401, { error: 'invalid_client' }) : issue(response, count),
    );
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => client.token()));
    assert.ok(results.every(({ status }) => status === 'rejected'));
    assert.equal(countOf(tokenPath), 1);
    assert.equal(await client.token(), 'token-2');
  });

  it('a caller that aborts does not abort the others', async (t) => {
    const { promise: asked, resolve: isAsked } = Promise.withResolvers<void>();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { client, countOf } = await startMisbehaving(t, async (_, response, count) => {
      isAsked();
      await released;
      issue(response, count);
    });
    const controller = new AbortController();
    const given = client.token({ signal: controller.signal });
    const other = client.token();
    await asked;
    controller.abort(new Error('enough'));
    await assert.rejects(given, /enough/);
    await assert.rejects(client.token({ signal: controller.signal }), /enough/);
    release();
    assert.equal(await other, 'token-1');
    assert.equal(countOf(tokenPath), 1);
  });

  it('keeps a good token when its refresh fails, and asks again ten seconds later', async (t) => {
    const { client, time, countOf } = await startMisbehaving(t, (_, response, count) =>
      count === 2 ? json(response, 503, {}, { 'retry-after': '30' }) : issue(response, count),
    );
    assert.equal(await client.token(), 'token-1');
    time.now += 3_000_000;
    assert.equal(await client.token(), 'token-1');
    assert.equal(await client.token(), 'token-1');
    assert.equal(countOf(tokenPath), 2);
    assert.deepEqual(time.slept, [], 'no caller waits for a token that it has');
    time.now += 10_001;
    assert.equal(await client.token(), 'token-3');
  });

  it('does not keep a token when the refresh is refused for good, or when it has expired', async (t) => {
    const refused = await startMisbehaving(t, (_, response, count) =>
      count > 1 ? json(response, 403, { error: 'unauthorized_client' }) : issue(response, count),
    );
    await refused.client.token();
    refused.time.now += 3_000_000;
    await assert.rejects(refused.client.token(), { code: 'unauthorized_client' });
    const away = await startMisbehaving(t, (_, response, count) =>
      count > 1 ? response.destroy() : issue(response, count),
    );
    await away.client.token();
    away.time.now += 3_599_000;
    await assert.rejects(away.client.token(), { code: 'unreachable' });
  });

  it('refuses an empty scope, which would ask for all scopes', async (t) => {
    const { client, seen } = await startMisbehaving(t, (_, response, count) => issue(response, count));
    for (const scope of ['', ' ', []]) await assert.rejects(client.token({ scope }), /must name a scope/);
    assert.equal(seen.length, 0);
  });
});

describe('retries of the token request', () => {
  for (const status of [429, 503]) {
    it(`${status} with Retry-After: waits and succeeds`, async (t) => {
      const { client, time, countOf } = await startMisbehaving(t, (_, response, count) =>
        count < 3 ? json(response, status, {}, { 'retry-after': String(count * 7) }) : issue(response, count),
      );
      assert.equal(await client.token(), 'token-3');
      assert.deepEqual(time.slept, [7_000, 14_000]);
      assert.equal(countOf(tokenPath), 3);
    });
  }

  it('429 with a date in Retry-After, and with X-RateLimit-Reset', async (t) => {
    const { client, time } = await startMisbehaving(t, (_, response, count) => {
      // Of a clock that differs from ours.
      const now = time.now - 500_000;
      const date = new Date(now).toUTCString();
      if (count === 1)
        return json(response, 429, {}, { date, 'retry-after': new Date(now + 9_000).toUTCString() });
      if (count === 2) return json(response, 429, {}, { date, 'x-ratelimit-reset': String(now / 1000 + 11) });
      return issue(response, count);
    });
    assert.equal(await client.token(), 'token-3');
    assert.deepEqual(time.slept, [9_000, 11_000]);
  });

  it('429 without, or with a senseless Retry-After: backs off with jitter', async (t) => {
    const senseless = ['', '-5', 'soon', '1e9'];
    const { client, time } = await startMisbehaving(
      t,
      (_, response, count) =>
        count <= senseless.length
          ? json(response, 429, {}, { 'retry-after': senseless[count - 1] })
          : issue(response, count),
      { retry: { attempts: 5 } },
    );
    assert.equal(await client.token(), 'token-5');
    assert.deepEqual(time.slept, [187.5, 375, 750, 1_500]);
  });

  it('429 with a long wait: an error that says when, at once', async (t) => {
    const { client, time, countOf } = await startMisbehaving(t, (_, response) =>
      json(
        response,
        429,
        { error: 'slow_down', code: 'tier_limit_exceeded', message: 'used up' },
        { 'retry-after': '40000', 'x-request-id': 'r1' },
      ),
    );
    await assert.rejects(client.token(), (error) => {
      assert.ok(error instanceof ApiError);
      assert.deepEqual([error.status, error.code, error.requestId], [429, 'tier_limit_exceeded', 'r1']);
      assert.equal(error.retryAfterSeconds, 40_000);
      assert.ok(error.message.includes(`try again after ${new Date(time.now + 40_000_000).toISOString()}`));
      return true;
    });
    assert.equal(countOf(tokenPath), 1);
    assert.deepEqual(time.slept, []);
  });

  it('429 again and again: the waits together are bounded', async (t) => {
    const { client, time, countOf } = await startMisbehaving(
      t,
      (_, response) => json(response, 429, { error: 'x' }, { 'retry-after': '30' }),
      { retry: { attempts: 100 } },
    );
    await assert.rejects(client.token(), { status: 429, retryAfterSeconds: 30 });
    assert.deepEqual(time.slept, [30_000, 30_000]);
    assert.equal(countOf(tokenPath), 3);
  });

  it('a dropped connection: four attempts', async (t) => {
    const { client, time, countOf } = await startMisbehaving(t, (_, response, count) =>
      count < 4 ? response.destroy() : issue(response, count),
    );
    assert.equal(await client.token(), 'token-4');
    assert.equal(time.slept.length, 3);
    assert.equal(countOf(tokenPath), 4);
  });

  it('no server: unreachable, with the reason', async () => {
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address() as AddressInfo;
    await new Promise((resolve) => probe.close(resolve));
    const client = createClient({
      issuer: `http://127.0.0.1:${port}`,
      clientId: 'a',
      auth: 's',
      platform: { sleep: async () => {} },
    });
    await assert.rejects(client.token(), (error) => {
      assert.ok(error instanceof ConnectionError);
      assert.equal(error.code, 'unreachable');
      assert.match(error.message, /ECONNREFUSED/);
      return true;
    });
  });

  for (const status of [400, 401, 403, 404, 500, 502]) {
    it(`${status}: no retry`, async (t) => {
      const { client, countOf } = await startMisbehaving(t, (_, response) =>
        json(response, status, { error: 'nope', error_description: 'because' }),
      );
      await assert.rejects(client.token(), { status, code: 'nope', message: `${status} nope: because` });
      assert.equal(countOf(tokenPath), 1);
    });
  }

  it('no answer at all: a timeout for each attempt', async (t) => {
    const { client, countOf } = await startMisbehaving(t, () => {}, {
      retry: { attempts: 2, timeoutSeconds: 0.2 },
    });
    await assert.rejects(client.token(), { code: 'timeout', message: 'no answer within 0.2 s' });
    assert.equal(countOf(tokenPath), 2);
  });
});

describe('answers that are no tokens', () => {
  const invalid: Readonly<Record<string, object>> = {
    'another token_type': { token_type: 'DPoP' },
    'no token_type': { token_type: undefined },
    'expires_in 0': { expires_in: 0 },
    'expires_in negative': { expires_in: -1 },
    'expires_in as text': { expires_in: '3600' },
    'expires_in null': { expires_in: null },
    'no expires_in': { expires_in: undefined },
    'no token': { access_token: undefined },
    'an empty token': { access_token: '' },
    'a token with a line break': { access_token: 'a\r\nx-evil: 1' },
    'a token that is a list': { access_token: ['a'] },
  };
  for (const [name, changes] of Object.entries(invalid)) {
    it(`invalid_response for ${name}, without a retry`, async (t) => {
      const { client, countOf } = await startMisbehaving(t, (_, response, count) =>
        issue(response, count, changes),
      );
      await assert.rejects(client.token(), { name: 'ConnectionError', code: 'invalid_response' });
      assert.equal(countOf(tokenPath), 1);
    });
  }

  it('a lifetime of years counts as a day', async (t) => {
    const { client, time } = await startMisbehaving(t, (_, response, count) =>
      issue(response, count, { expires_in: 1e300 }),
    );
    assert.equal(await client.token(), 'token-1');
    time.now += 0.79 * 86_400_000;
    assert.equal(await client.token(), 'token-1');
    time.now += 0.02 * 86_400_000;
    assert.equal(await client.token(), 'token-2');
  });

  for (const [name, body] of [
    ['HTML', '<!doctype html><h1>Sign in</h1>'],
    ['JSON that is no object', '"text"'],
    ['null', 'null'],
    ['nothing', ''],
  ] as const) {
    it(`invalid_response for ${name}`, async (t) => {
      const { client } = await startMisbehaving(t, (_, response) =>
        response.writeHead(200, { 'content-type': 'text/html' }).end(body),
      );
      await assert.rejects(client.token(), { code: 'invalid_response' });
    });
  }

  it('invalid_response for an endless body, cut at its limit', async (t) => {
    let sent = 0;
    const { client } = await startMisbehaving(t, (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const chunk = ' '.repeat(64 * 1024);
      const more = () => {
        while (!response.destroyed && response.write(chunk)) sent += chunk.length;
      };
      response.on('drain', more);
      more();
    });
    await assert.rejects(client.token(), { code: 'invalid_response', message: /longer than 262144 bytes/ });
    assert.ok(sent < 20_000_000);
  });

  it('timeout for a body that drips, of an answer and of a refusal', async (t) => {
    for (const status of [200, 400]) {
      const { client } = await startMisbehaving(
        t,
        (_, response) => {
          response.writeHead(status, { 'content-type': 'application/json' });
          const timer = setInterval(() => response.write(' '), 20);
          response.on('close', () => clearInterval(timer));
        },
        { retry: { attempts: 1, timeoutSeconds: 0.3 } },
      );
      await assert.rejects(client.token(), status === 200 ? { code: 'timeout' } : { status: 400 });
    }
  });

  it('a redirect is not followed, and the secret goes nowhere', async (t) => {
    const elsewhere = await startMisbehaving(t, (_, response, count) => issue(response, count));
    for (const status of [301, 302, 303, 307, 308]) {
      const { client } = await startMisbehaving(t, (_, response) =>
        response.writeHead(status, { location: `${elsewhere.url}${tokenPath}` }).end(),
      );
      await assert.rejects(client.token(), { code: 'invalid_response', message: /redirect/ });
    }
    assert.equal(elsewhere.seen.length, 0);
  });

  it('control characters of a refusal do not reach the terminal', async (t) => {
    const { client } = await startMisbehaving(t, (_, response) =>
      json(response, 400, { error: 'a\u001b[2Jb', error_description: `x\r\n${'y'.repeat(5_000)}` }),
    );
    await assert.rejects(client.token(), ({ message }: Error) => {
      assert.doesNotMatch(message, /\p{Cc}/u);
      assert.ok(message.length < 700);
      return true;
    });
  });
});

describe('createClient', () => {
  const good = { issuer: 'https://id.example', clientId: 'a', auth: 's' };
  for (const [name, changes] of Object.entries({
    'an issuer that is no URL': { issuer: 'id.example' },
    'plain http': { issuer: 'http://id.example' },
    'another scheme': { issuer: 'ftp://id.example' },
    'an issuer with a password': { issuer: 'https://a:b@id.example' },
    'an issuer with a query': { issuer: 'https://id.example?x=1' },
    'no client': { clientId: '' },
    'an empty secret': { auth: '' },
    'a private key as a secret': { auth: '-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----\n' },
    'no auth': { auth: undefined as unknown as string },
    'a resource with plain http': { resources: ['http://api.example'] },
    'no attempt': { retry: { attempts: 0 } },
    'a wait that is no number': { retry: { maxWaitSeconds: Number.NaN } },
    'no time': { retry: { timeoutSeconds: 0 } },
  })) {
    it(`refuses ${name}`, () => assert.throws(() => createClient({ ...good, ...changes }), TypeError));
  }

  it('accepts plain http on this machine, and a slash at the end', () => {
    for (const issuer of [
      'http://localhost:3000/',
      'http://127.0.0.1',
      'http://[::1]:3000',
      'http://id.localhost',
    ])
      createClient({ ...good, issuer });
    for (const issuer of ['http://localhost.example', 'http://127.0.0.1.example', 'http://1270.0.0.1'])
      assert.throws(() => createClient({ ...good, issuer }), TypeError);
  });
});
