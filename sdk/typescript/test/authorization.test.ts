/** People who sign in: discovery, the request, its callback, and the listener on loopback. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { request as sendRequest } from 'node:http';
import { describe, it } from 'node:test';
import { authorizeOnLoopback, type LoopbackOptions } from '../src/loopback.ts';
import {
  AuthorizationError,
  type AuthorizationOptions,
  ConnectionError,
  createPersonSession,
  finishAuthorization,
  startAuthorization,
} from '../src/sdk.ts';
import { browse, clientId, resource, startAuthorizationServer } from './authorization-server.ts';

const { issuer, person } = await startAuthorizationServer();
const base = { issuer, clientId, resource } as const;

/** For assert.rejects. */
const failsWith = (code: string, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof AuthorizationError, String(error));
  assert.equal(error.code, code, error.message);
  assert.match(error.message, message);
  return true;
};

const isListening = (url: string) =>
  fetch(url).then(
    () => true,
    () => false,
  );

describe('with an independent server', () => {
  it('a person signs in on loopback; tokens are refreshed with rotation, and ended', async () => {
    let page: Awaited<ReturnType<typeof browse>> | undefined;
    let seen = '';
    const tokens = await authorizeOnLoopback({
      ...base,
      scope: ['orders:read'],
      open(url) {
        seen = url;
        void browse(url).then((last) => {
          page = last;
        });
      },
    });
    assert.equal(tokens.scope, 'orders:read');
    assert.deepEqual([tokens.issuer, tokens.clientId, tokens.resource], [issuer, clientId, resource]);
    const redirectUri = new URL(seen).searchParams.get('redirect_uri') ?? '';
    assert.match(redirectUri, /^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    assert.equal(await isListening(redirectUri), false, 'the listener is closed');
    assert.match(page?.text ?? '', /You can close this window/);

    const session = createPersonSession(base);
    await session.save(tokens);
    assert.equal(await session.token(), tokens.accessToken);
    const renewed = await session.refresh();
    assert.notEqual(renewed, tokens.accessToken);
    assert.equal(await session.token(), renewed);
    const rotated = await session.tokens();
    assert.ok(rotated?.refreshToken && rotated.refreshToken !== tokens.refreshToken);
    await session.end();
    await assert.rejects(session.token(), failsWith('authorization_required', /call startAuthorization/));
    await session.save(rotated);
    await assert.rejects(session.refresh(), failsWith('authorization_required', /has ended the access/));
    assert.equal(await session.tokens(), undefined);
  });

  it('access_denied: the person refuses, and the page says so', async () => {
    person.agrees = false;
    let page: ReturnType<typeof browse> | undefined;
    await assert.rejects(
      authorizeOnLoopback({
        ...base,
        redirectUri: 'http://localhost/signed-in',
        open(url) {
          page = browse(url);
        },
      }),
      failsWith('access_denied', /Ada refused\..*ask them before/),
    );
    person.agrees = true;
    const { status, text } = (await page) ?? {};
    assert.equal(status, 400);
    assert.match(text ?? '', /has failed/);
  });

  it('invalid_grant: a code that was used, or a wrong verifier', async () => {
    const redirectUri = 'http://127.0.0.1:9/callback';
    const started = await startAuthorization({ ...base, redirectUri, scope: 'orders:read' });
    const { url: callback } = await browse(started.url, redirectUri);
    await finishAuthorization(callback, started);
    for (const again of [{ ...started }, { ...started, codeVerifier: 'x'.repeat(43) }])
      await assert.rejects(
        finishAuthorization(callback, again),
        failsWith('invalid_grant', /call startAuthorization again/),
      );
  });
});

const server = 'https://id.example.com';
const metadata = {
  issuer: server,
  authorization_endpoint: `${server}/api/v1/authorize`,
  token_endpoint: `${server}/api/v1/token`,
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
};
const answering = (body: unknown, init?: ResponseInit) => ({
  fetch: async () => (body === undefined ? new Response(null, init) : Response.json(body, init)),
});
const asked = {
  issuer: server,
  clientId: '00000000-0000-4000-8000-000000000001',
  resource,
  redirectUri: 'https://app.example/callback',
  platform: answering(metadata),
} as const;

describe('startAuthorization', () => {
  it('the address has PKCE with S256, a state, and what was asked for', async () => {
    const started = await startAuthorization({
      ...asked,
      issuer: `${server}/`,
      scope: 'orders:write orders:read',
      prompt: 'consent',
      loginHint: 'ada@example.com',
      organization: 'acme',
    });
    const { origin, pathname, searchParams } = new URL(started.url);
    assert.equal(origin + pathname, metadata.authorization_endpoint);
    assert.deepEqual(Object.fromEntries(searchParams), {
      response_type: 'code',
      client_id: asked.clientId,
      redirect_uri: asked.redirectUri,
      resource,
      scope: 'orders:read orders:write',
      state: started.state,
      code_challenge: createHash('sha256').update(started.codeVerifier).digest('base64url'),
      code_challenge_method: 'S256',
      prompt: 'consent',
      login_hint: 'ada@example.com',
      organization: 'acme',
    });
    assert.ok(!started.url.includes(started.codeVerifier));
    for (const text of [started.state, started.codeVerifier]) assert.match(text, /^[\w-]{43}$/);
    const other = await startAuthorization(asked);
    assert.notEqual(other.state, started.state);
    assert.notEqual(other.codeVerifier, started.codeVerifier);
    assert.deepEqual(JSON.parse(JSON.stringify(other)), other);
  });

  it('ConnectionError: metadata of another issuer, without S256, without endpoints, or no JSON', async () => {
    for (const [body, message, init] of [
      [{ ...metadata, issuer: `${server}/` }, /exactly as the server names itself/],
      [{ ...metadata, issuer: 'https://evil.example' }, /they are of https:\/\/evil\.example/],
      [{ ...metadata, issuer: undefined }, /they are of undefined/],
      [{ ...metadata, code_challenge_methods_supported: ['plain'] }, /PKCE/],
      [{ ...metadata, code_challenge_methods_supported: undefined }, /PKCE/],
      [{ ...metadata, authorization_endpoint: undefined }, /authorization_endpoint is missing/],
      [
        { ...metadata, token_endpoint: 'http://id.example.com/token' },
        /token_endpoint must start with https/,
      ],
      [{ ...metadata, revocation_endpoint: '/revoke' }, /revocation_endpoint must be an absolute URL/],
      [[metadata], /they are of undefined/],
      [null, /they are of undefined/],
      [undefined, /redirect/, { status: 302, headers: { location: 'https://elsewhere.example' } }],
    ] as [unknown, RegExp, ResponseInit?][])
      await assert.rejects(
        startAuthorization({ ...asked, platform: answering(body, init) }),
        (error) => error instanceof ConnectionError && message.test(error.message),
        String(message),
      );
  });

  it('TypeError for options that are missing or wrong', async () => {
    for (const changes of [
      { issuer: 'http://id.example.com' },
      { clientId: '' },
      { clientId: undefined },
      { resource: 'orders' },
      { redirectUri: 'app.example' },
      { redirectUri: 'http://app.example/callback' },
      { redirectUri: 'https://app.example/callback#x' },
      { scope: [] },
    ])
      await assert.rejects(
        startAuthorization({ ...asked, ...changes } as AuthorizationOptions),
        TypeError,
        JSON.stringify(changes),
      );
  });
});

describe('finishAuthorization', () => {
  const issued = {
    access_token: 'one',
    token_type: 'Bearer',
    expires_in: 900,
    refresh_token: 'r1',
    scope: 'a',
  };

  const start = async (changes: object = {}) => {
    const started = await startAuthorization({ ...asked, platform: answering({ ...metadata, ...changes }) });
    const callback = (parameters: Record<string, string | undefined>) => {
      const all = { code: 'c', state: started.state, iss: server, ...parameters };
      const given = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined);
      return `${asked.redirectUri}?${new URLSearchParams(given)}`;
    };
    return { started, callback };
  };
  const neverAsked = { fetch: () => assert.fail('the code must not be sent') };

  it('exchanges the code with verifier, redirect URI and resource, and without a secret', async () => {
    const { started, callback } = await start();
    const sent: [string, RequestInit][] = [];
    const platform = {
      now: () => 1_000,
      fetch: async (url: unknown, init: RequestInit = {}) => {
        sent.push([String(url), init]);
        return Response.json(issued);
      },
    };
    const tokens = await finishAuthorization(new URL(callback({})), started, { platform });
    assert.deepEqual(tokens, {
      issuer: server,
      clientId: asked.clientId,
      resource,
      accessToken: 'one',
      scope: 'a',
      expiresAt: 901_000,
      refreshAt: 721_000,
      refreshToken: 'r1',
    });
    assert.equal(sent.length, 1);
    const [url, { method, body, redirect }] = sent[0] ?? assert.fail();
    assert.deepEqual([url, method, redirect], [metadata.token_endpoint, 'POST', 'manual']);
    assert.deepEqual(Object.fromEntries(body as URLSearchParams), {
      grant_type: 'authorization_code',
      client_id: asked.clientId,
      code: 'c',
      code_verifier: started.codeVerifier,
      resource,
      redirect_uri: asked.redirectUri,
    });
    await assert.rejects(
      finishAuthorization(callback({}), started, { platform: neverAsked }),
      failsWith('already_finished', /call startAuthorization again/),
    );
  });

  it('a path with a query is enough, as Node.js gives it', async () => {
    const { started, callback } = await start();
    const { pathname, search } = new URL(callback({}));
    await finishAuthorization(pathname + search, started, { platform: answering(issued) });
  });

  it('state_mismatch: another state, or none; the right callback still counts afterwards', async () => {
    const { started, callback } = await start();
    for (const state of [undefined, '', 'x', `${started.state} `])
      await assert.rejects(
        finishAuthorization(callback({ state, error: 'access_denied' }), started, { platform: neverAsked }),
        failsWith('state_mismatch', /does not belong to this authorization/),
      );
    await finishAuthorization(callback({}), started, { platform: answering(issued) });
  });

  it('issuer_mismatch: another issuer, or none where the server names itself (RFC 9207)', async () => {
    const { started, callback } = await start();
    for (const iss of [undefined, '', `${server}/`, 'https://evil.example'])
      for (const error of [undefined, 'access_denied'])
        await assert.rejects(
          finishAuthorization(callback({ iss, error }), started, { platform: neverAsked }),
          failsWith('issuer_mismatch', /its code is not used/),
        );
    const silent = await start({ authorization_response_iss_parameter_supported: undefined });
    await assert.rejects(
      finishAuthorization(silent.callback({ iss: 'https://evil.example' }), silent.started, {
        platform: neverAsked,
      }),
      failsWith('issuer_mismatch', /evil/),
    );
    await finishAuthorization(silent.callback({ iss: undefined }), silent.started, {
      platform: answering(issued),
    });
  });

  it('invalid_callback: a parameter twice, or no code', async () => {
    const { started, callback } = await start();
    for (const name of ['code', 'state', 'iss', 'error'])
      await assert.rejects(
        finishAuthorization(`${callback({ error: 'a' })}&${name}=x`, started, { platform: neverAsked }),
        failsWith('invalid_callback', new RegExp(`${name} twice`)),
      );
    for (const code of [undefined, ''])
      await assert.rejects(
        finishAuthorization(callback({ code }), started, { platform: neverAsked }),
        failsWith('invalid_callback', /neither a code nor an error/),
      );
    await assert.rejects(finishAuthorization('http://[', started), TypeError);
  });

  it('the error of the server, without control characters, and what to do', async () => {
    const { started, callback } = await start();
    for (const [error, description, message] of [
      ['access_denied', 'No.', /access_denied: No\.; the person or an administrator refused/],
      ['login_required', undefined, /without `prompt`/],
      ['x', undefined, /^x: the server gives no reason$/],
      ['toString', '\u001b[31mred\u202e', /^toString: {2}\[31mred $/],
    ] as const)
      await assert.rejects(
        finishAuthorization(callback({ error, error_description: description, code: undefined }), started, {
          platform: neverAsked,
        }),
        failsWith(error, message),
      );
  });

  it('a lost answer is not repeated, because the code may be used; 429 is', async () => {
    const lost = await start();
    let count = 0;
    await assert.rejects(
      finishAuthorization(lost.callback({}), lost.started, {
        platform: {
          sleep: async () => {},
          fetch: async () => {
            count += 1;
            throw new TypeError('fetch failed');
          },
        },
      }),
      ConnectionError,
    );
    assert.equal(count, 1);
    const limited = await start();
    const answers = [
      new Response(null, { status: 429, headers: { 'retry-after': '1' } }),
      Response.json(issued),
    ];
    const platform = { sleep: async () => {}, fetch: async () => answers.shift() ?? assert.fail() };
    assert.equal(
      (await finishAuthorization(limited.callback({}), limited.started, { platform })).accessToken,
      'one',
    );
  });
});

describe('authorizeOnLoopback', () => {
  /** Runs `visit` with the redirect URI and the state of a request that the person never answers. */
  const waiting = (
    visit: (redirectUri: string, state: string) => unknown,
    changes: Partial<LoopbackOptions> = {},
  ) =>
    authorizeOnLoopback({
      ...base,
      open(url) {
        const { searchParams } = new URL(url);
        return visit(String(searchParams.get('redirect_uri')), String(searchParams.get('state')));
      },
      ...changes,
    });

  it('404 for another path, method, host or state; such requests do not end the wait', async () => {
    const ended = new AbortController();
    let redirectUri = '';
    await assert.rejects(
      waiting(
        async (uri, state) => {
          redirectUri = uri;
          const { origin, host, port } = new URL(uri);
          for (const [path, init] of [
            ['/favicon.ico', {}],
            [`/?state=${state}`, {}],
            ['/callback', {}],
            ['/callback?state=x&code=c', {}],
            [`/callback?state=${state}&code=c`, { method: 'POST' }],
          ] as const)
            assert.equal((await fetch(`${origin}${path}`, init)).status, 404, path);
          for (const [target, name] of [
            [`/callback?state=${state}`, 'rebound.example'],
            [`http://rebound.example/callback?state=${state}`, host],
            ['//[', host],
          ])
            assert.equal(await statusOf(Number(port), String(target), String(name)), 404, String(target));
          ended.abort(new Error('ended by the test'));
        },
        { signal: ended.signal },
      ),
      /ended by the test/,
    );
    assert.equal(await isListening(redirectUri), false);
  });

  const statusOf = (port: number, path: string, host: string) =>
    new Promise((resolve, reject) =>
      sendRequest({ host: '127.0.0.1', port, path, headers: { host } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end(),
    );

  it('timeout: says so, and closes the listener', async () => {
    let redirectUri = '';
    await assert.rejects(
      waiting(
        (uri) => {
          redirectUri = uri;
        },
        { timeoutSeconds: 0.2 },
      ),
      failsWith('timeout', /within 0\.2 s: start again/),
    );
    assert.equal(await isListening(redirectUri), false);
  });

  it('the error of `open`, and of a server that cannot be reached', async () => {
    let redirectUri = '';
    await assert.rejects(
      waiting(async (uri) => {
        redirectUri = uri;
        throw new Error('no browser');
      }),
      /no browser/,
    );
    assert.equal(await isListening(redirectUri), false);
    await assert.rejects(
      waiting(() => assert.fail(), {
        platform: { sleep: async () => {}, fetch: () => Promise.reject(new TypeError('down')) },
      }),
      ConnectionError,
    );
  });

  it('TypeError for a redirect URI that is not on loopback, and for other wrong options', async () => {
    for (const changes of [
      { redirectUri: 'https://127.0.0.1/callback' },
      { redirectUri: 'http://app.example/callback' },
      { redirectUri: 'http://127.0.0.1/callback#x' },
      { redirectUri: 'callback' },
      { timeoutSeconds: 0 },
      { timeoutSeconds: Number.NaN },
      { timeoutSeconds: 4_000 },
      { open: undefined },
    ])
      await assert.rejects(
        waiting(() => assert.fail(), changes as Partial<LoopbackOptions>),
        TypeError,
        JSON.stringify(changes),
      );
  });
});
