/** APIs that name their authorization server: discovery, each grant, more scopes, and servers that must not get a token. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decodeJwt, decodeProtectedHeader, exportPKCS8, generateKeyPair } from 'jose';
import { readChallenge } from '../src/authorize/protected-resource.ts';
import {
  ApiError,
  AuthorizationError,
  type AuthorizationOptions,
  ConnectionError,
  createResourceClient,
  type PersonTokens,
  type ResourceClientOptions,
  requestIdJag,
} from '../src/sdk.ts';

const url = 'https://tools.example.com/mcp';
const issuer = 'https://login.example.com';
const secret = { clientId: 'agent', auth: 'secret' } as const;
const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

interface Sent {
  readonly url: string;
  readonly headers: Headers;
  readonly body: string;
  readonly form: Record<string, string>;
}

type Answer = (sent: Sent, count: number) => Response;

const challenge = (status: number, text: string) =>
  new Response(null, { status, headers: { 'www-authenticate': text } });

/** Demands the scopes that `need` names. Tokens are `<count>:<scopes>`. */
const api =
  (need: (sent: Sent) => string = () => ''): Answer =>
  (sent) => {
    const [scheme, token = ''] = (sent.headers.get('authorization') ?? '').split(' ');
    const needed = need(sent);
    if (scheme !== 'Bearer') return challenge(401, needed ? `Bearer scope="${needed}"` : 'Bearer');
    const held = token.slice(token.indexOf(':') + 1).split('+');
    if (needed === '' || held.includes(needed)) return Response.json({ token });
    return challenge(403, `Bearer error="insufficient_scope", scope="${needed}"`);
  };

const issueToken: Answer = ({ form }, count) =>
  Response.json({
    access_token: `${count}:${(form.scope ?? '').replaceAll(' ', '+')}`,
    token_type: 'Bearer',
    expires_in: 3600,
  });

function setUp(changes: Partial<ResourceClientOptions> & { readonly answers?: Record<string, Answer> } = {}) {
  const { answers, ...options } = changes;
  const sent: Sent[] = [];
  const all: Record<string, Answer> = {
    [url]: api(),
    'https://tools.example.com/.well-known/oauth-protected-resource/mcp': () =>
      Response.json({ resource: url, authorization_servers: [issuer] }),
    [`${issuer}/.well-known/oauth-authorization-server`]: () =>
      Response.json({ issuer, token_endpoint: `${issuer}/token` }),
    [`${issuer}/token`]: issueToken,
    ...answers,
  };
  const fetch = async (address: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const text = init.body === undefined || init.body === null ? '' : String(init.body);
    const one = {
      url: String(address),
      headers: new Headers(init.headers),
      body: text,
      form: Object.fromEntries(new URLSearchParams(text)),
    };
    sent.push(one);
    const count = sent.filter((other) => other.url === one.url).length;
    return all[one.url]?.(one, count) ?? new Response(null, { status: 404 });
  };
  const platform = { fetch, now: () => 1_700_000_000_000, sleep: async () => {} };
  const client = createResourceClient({ url, issuers: [issuer], grant: secret, platform, ...options });
  const to = (address: string) => sent.filter((one) => one.url === address);
  return { client, platform, sent, to, tokens: () => to(`${issuer}/token`) };
}

describe('client credentials', () => {
  it('the API names its server; the request is sent again with a token, and the next one at once', async () => {
    const { client, sent, to } = setUp();
    const init = { method: 'POST', body: '{"a":1}', headers: { 'x-session': '7' } };
    assert.equal((await client.fetch(url, init)).status, 200);
    assert.deepEqual(
      sent.map((one) => one.url),
      [
        url,
        'https://tools.example.com/.well-known/oauth-protected-resource/mcp',
        `${issuer}/.well-known/oauth-authorization-server`,
        `${issuer}/token`,
        url,
      ],
    );
    assert.equal((await client.fetch(`${url}`, init)).status, 200);
    assert.equal(sent.length, 6);
    assert.deepEqual(
      to(url).map(({ headers, body }) => [headers.get('authorization'), headers.get('x-session'), body]),
      [
        [null, '7', '{"a":1}'],
        ['Bearer 1:', '7', '{"a":1}'],
        ['Bearer 1:', '7', '{"a":1}'],
      ],
    );
  });

  it('a secret in HTTP Basic, form-encoded, unless the server wants it in the form', async () => {
    const grant = { clientId: 'agent:7', auth: 'a b%ü' };
    const basic = setUp({ grant });
    await basic.client.fetch(url);
    assert.equal(basic.tokens()[0]?.headers.get('authorization'), `Basic ${btoa('agent%3A7:a+b%25%C3%BC')}`);
    assert.deepEqual(basic.tokens()[0]?.form, { grant_type: 'client_credentials', resource: url });

    const token_endpoint_auth_methods_supported = ['client_secret_basic', 'client_secret_post'];
    const metadata = { issuer, token_endpoint: `${issuer}/token`, token_endpoint_auth_methods_supported };
    const post = setUp({
      grant,
      answers: { [`${issuer}/.well-known/oauth-authorization-server`]: () => Response.json(metadata) },
    });
    await post.client.fetch(url);
    assert.equal(post.tokens()[0]?.headers.get('authorization'), null);
    const { client_id, client_secret } = post.tokens()[0]?.form ?? {};
    assert.deepEqual([client_id, client_secret], ['agent:7', 'a b%ü']);
  });

  it('a key: an assertion for the issuer', async () => {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true });
    const auth = { key: await exportPKCS8(privateKey), algorithm: 'ES256' };
    const { client, tokens } = setUp({ grant: { clientId: 'agent', auth } });
    await client.fetch(url);
    const { iss, sub, aud } = decodeJwt(tokens()[0]?.form.client_assertion ?? '');
    assert.deepEqual([iss, sub, aud], ['agent', 'agent', issuer]);
  });

  it('fifty requests at the same time: one token', async () => {
    const { client, tokens } = setUp();
    const responses = await Promise.all(Array.from({ length: 50 }, () => client.fetch(url)));
    assert.ok(responses.every((response) => response.ok));
    assert.equal(tokens().length, 1);
  });

  it('401 with a token: one new token, then the answer', async () => {
    const refuse =
      (old: string): Answer =>
      (sent) =>
        sent.headers.get('authorization') === old
          ? challenge(401, 'Bearer error="invalid_token"')
          : api()(sent, 0);
    const once = setUp({ answers: { [url]: refuse('Bearer 1:') } });
    assert.deepEqual(await (await once.client.fetch(url)).json(), { token: '2:' });
    const always = setUp({ answers: { [url]: () => challenge(401, 'Bearer error="invalid_token"') } });
    assert.equal((await always.client.fetch(url)).status, 401);
    assert.equal(always.tokens().length, 2);
    assert.equal(always.to(url).length, 3);
  });
});

describe('scopes', () => {
  it('of the challenge, else of the metadata, else none; the program adds its own', async () => {
    const listed = {
      'https://tools.example.com/.well-known/oauth-protected-resource/mcp': () =>
        Response.json({ resource: url, authorization_servers: [issuer], scopes_supported: ['b', 'a'] }),
    };
    for (const [need, answers, scope, asked] of [
      ['c', listed, undefined, 'c'],
      ['', listed, undefined, 'a b'],
      ['', {}, undefined, undefined],
      ['c', listed, ['d'], 'c d'],
      ['', listed, 'd', 'd'],
    ] as const) {
      const { client, tokens } = setUp({ scope, answers: { ...answers, [url]: api(() => need) } });
      await client.fetch(url);
      assert.equal(tokens()[0]?.form.scope, asked);
    }
  });

  it('403 insufficient_scope: more scopes beside the earlier ones, also for the next request', async () => {
    const { client, to, tokens } = setUp({ answers: { [url]: api(({ body }) => body) } });
    assert.equal((await client.fetch(url, { method: 'POST', body: 'read' })).status, 200);
    assert.equal((await client.fetch(url, { method: 'POST', body: 'write' })).status, 200);
    assert.deepEqual(
      tokens().map(({ form }) => form.scope),
      ['read', 'read write'],
    );
    assert.equal((await client.fetch(url, { method: 'POST', body: 'read' })).status, 200);
    assert.equal(to(url).length, 5);
  });

  it('403 for scopes that the token has: the answer, and no further token', async () => {
    const { client, to, tokens } = setUp({
      answers: {
        [url]: ({ headers }) =>
          headers.has('authorization')
            ? challenge(403, 'Bearer error="insufficient_scope", scope="admin"')
            : challenge(401, 'Bearer scope="admin"'),
      },
    });
    assert.equal((await client.fetch(url)).status, 403);
    assert.equal((await client.fetch(url)).status, 403);
    assert.deepEqual([to(url).length, tokens().length], [3, 1]);
  });

  it('an API that demands another scope each time: one more token for a request', async () => {
    const { client, tokens } = setUp({
      answers: {
        [url]: ({ headers }, count) =>
          challenge(
            headers.has('authorization') ? 403 : 401,
            `Bearer error="insufficient_scope", scope="s${count}"`,
          ),
      },
    });
    assert.equal((await client.fetch(url)).status, 403);
    assert.equal(tokens().length, 2);
  });

  it('invalid_scope: the error is thrown, and requests with the earlier scopes go on', async () => {
    const { client } = setUp({
      answers: {
        [url]: api(({ body }) => body),
        [`${issuer}/token`]: (sent, count) =>
          sent.form.scope?.includes('write')
            ? Response.json({ error: 'invalid_scope' }, { status: 400 })
            : issueToken(sent, count),
      },
    });
    assert.equal((await client.fetch(url, { method: 'POST', body: 'read' })).status, 200);
    await assert.rejects(client.fetch(url, { method: 'POST', body: 'write' }), { code: 'invalid_scope' });
    assert.equal((await client.fetch(url, { method: 'POST', body: 'read' })).status, 200);
  });
});

describe('assertions', () => {
  it("a workload's token, without a client; a new one for each attempt", async () => {
    let count = 0;
    const { client, tokens } = setUp({
      grant: { auth: async () => `workload-${++count}` },
      answers: {
        [`${issuer}/token`]: (sent, attempt) =>
          attempt === 1 ? new Response(null, { status: 503 }) : issueToken(sent, attempt),
      },
    });
    assert.equal((await client.fetch(url)).status, 200);
    assert.deepEqual(
      tokens().map(({ form }) => form),
      ['workload-1', 'workload-2'].map((assertion) => ({ grant_type: jwtBearer, assertion, resource: url })),
    );
  });

  it('a refused assertion: the error of the server, and no other attempt or grant', async () => {
    for (const error of ['invalid_grant', 'invalid_scope', 'unauthorized_client']) {
      const { client, tokens } = setUp({
        grant: { auth: () => 'workload' },
        answers: { [`${issuer}/token`]: () => Response.json({ error }, { status: 400 }) },
      });
      await assert.rejects(
        client.fetch(url),
        (thrown) => thrown instanceof ApiError && thrown.code === error,
      );
      assert.equal(tokens().length, 1);
    }
  });

  const idp = 'https://company.example.com/tenant';
  const idJagType = 'urn:ietf:params:oauth:token-type:id-jag';
  const idpAnswers = (answer: object): Record<string, Answer> => ({
    'https://company.example.com/tenant/.well-known/openid-configuration': () =>
      Response.json({ issuer: idp, token_endpoint: 'https://company.example.com/exchange' }),
    'https://company.example.com/exchange': () => Response.json(answer),
  });

  it('an ID-JAG of the company: exchanged there, redeemed here by the client', async () => {
    const answers = {
      ...idpAnswers({ access_token: 'id-jag', issued_token_type: idJagType, token_type: 'N_A' }),
      [url]: api(() => 'orders:read'),
    };
    const { client, platform, to, tokens } = setUp({
      answers,
      grant: {
        ...secret,
        idJag: (target) =>
          requestIdJag({ ...target, issuer: idp, clientId: 'at-idp', subjectToken: 'id-token', platform }),
      },
    });
    assert.equal((await client.fetch(url)).status, 200);
    assert.deepEqual(to('https://company.example.com/exchange')[0]?.form, {
      client_id: 'at-idp',
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      requested_token_type: idJagType,
      subject_token: 'id-token',
      subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
      audience: issuer,
      resource: url,
      scope: 'orders:read',
    });
    assert.deepEqual(tokens()[0]?.form, {
      grant_type: jwtBearer,
      assertion: 'id-jag',
      resource: url,
      scope: 'orders:read',
    });
    assert.equal(tokens()[0]?.headers.get('authorization'), `Basic ${btoa('agent:secret')}`);
  });

  it('another token than an ID-JAG is not sent on', async () => {
    for (const answer of [
      { access_token: 'access', issued_token_type: 'urn:ietf:params:oauth:token-type:access_token' },
      { access_token: 'access', token_type: 'Bearer' },
      { issued_token_type: idJagType },
    ]) {
      const { platform } = setUp({ answers: idpAnswers(answer) });
      const options = { issuer: idp, clientId: 'at-idp', subjectToken: 'id-token', audience: issuer };
      await assert.rejects(requestIdJag({ ...options, resource: url, platform }), /sent no ID-JAG/);
    }
  });
});

describe('people', () => {
  const personOf = (asked: AuthorizationOptions[]) => ({
    clientId: 'app',
    async authorize(options: AuthorizationOptions): Promise<PersonTokens> {
      asked.push(options);
      const scope = String(options.scope ?? '');
      return {
        ...{ issuer: options.issuer, clientId: options.clientId, resource: options.resource, scope },
        accessToken: `${asked.length}:${scope.replaceAll(' ', '+')}`,
        expiresAt: Number.MAX_SAFE_INTEGER,
        refreshAt: Number.MAX_SAFE_INTEGER,
      };
    },
  });

  it('authorize gets the server, the resource and the scopes; a step-up asks for all of them', async () => {
    const asked: AuthorizationOptions[] = [];
    const storage = new Map<string, string>();
    const options = { grant: { ...personOf(asked), storage }, answers: { [url]: api(({ body }) => body) } };
    const { client } = setUp(options);
    const send = (body: string) => client.fetch(url, { method: 'POST', body });
    const responses = await Promise.all([send('read'), send('read')]);
    assert.ok(responses.every((response) => response.ok));
    assert.equal((await send('write')).status, 200);
    assert.deepEqual(
      asked.map((one) => [one.issuer, one.clientId, one.resource, one.scope]),
      [
        [issuer, 'app', url, 'read'],
        [issuer, 'app', url, 'read write'],
      ],
    );

    const later = setUp(options).client;
    assert.equal((await later.fetch(url, { method: 'POST', body: 'write' })).status, 200);
    assert.equal(asked.length, 2, 'the stored tokens are used');
    assert.equal((await later.fetch(url, { method: 'POST', body: 'admin' })).status, 200);
    assert.equal(asked[2]?.scope, 'admin read write', 'the stored scopes are not lost');
  });

  it('401 without a refresh token: the person is asked again', async () => {
    const asked: AuthorizationOptions[] = [];
    const { client } = setUp({
      grant: personOf(asked),
      answers: {
        [url]: (sent) =>
          sent.headers.get('authorization') === 'Bearer 1:'
            ? challenge(401, 'Bearer error="invalid_token"')
            : api()(sent, 0),
      },
    });
    assert.deepEqual(await (await client.fetch(url)).json(), { token: '2:' });
    assert.equal(asked.length, 2);
  });
});

describe('DPoP', () => {
  const bound: Answer = (sent, count) => {
    const { scope } = sent.form;
    return Response.json({ access_token: `bound-${count}`, token_type: 'DPoP', expires_in: 3600, scope });
  };

  it('proofs of one key at the token endpoint and at the API, with the nonces of both', async () => {
    const { client, to, tokens } = setUp({
      dpop: true,
      answers: {
        [url]: ({ headers }) => {
          if (!headers.has('authorization')) return challenge(401, 'DPoP algs="ES256"');
          const { nonce } = decodeJwt(headers.get('dpop') ?? '');
          if (nonce === 'n2') return Response.json({});
          const demand = { 'www-authenticate': 'DPoP error="use_dpop_nonce"', 'dpop-nonce': 'n2' };
          return new Response(null, { status: 401, headers: demand });
        },
        [`${issuer}/token`]: (sent, count) =>
          decodeJwt(sent.headers.get('dpop') ?? '').nonce === 'n1'
            ? bound(sent, count)
            : Response.json({ error: 'use_dpop_nonce' }, { status: 400, headers: { 'dpop-nonce': 'n1' } }),
      },
    });
    assert.equal((await client.fetch(url, { method: 'POST', body: '{}' })).status, 200);
    assert.deepEqual(
      to(url).map(({ headers }) => headers.get('authorization')),
      [null, 'DPoP bound-2', 'DPoP bound-2'],
    );
    assert.equal(to(url)[0]?.headers.has('dpop'), false);
    const proofs = [...tokens(), ...to(url).slice(1)].map(({ headers }) => headers.get('dpop') ?? '');
    assert.equal(new Set(proofs.map((proof) => decodeJwt(proof).jti)).size, 4);
    assert.equal(new Set(proofs.map((proof) => JSON.stringify(decodeProtectedHeader(proof).jwk))).size, 1);
  });

  it('a token that is not bound: an error', async () => {
    const { client, to } = setUp({ dpop: true });
    await assert.rejects(client.fetch(url), /token_type is not DPoP/);
    assert.equal(to(url).length, 1);
  });
});

describe('servers that must not get credentials', () => {
  const metadataAt = 'https://tools.example.com/.well-known/oauth-protected-resource/mcp';
  const naming = (metadata: object) => ({ [metadataAt]: () => Response.json(metadata) });

  it('an authorization server that the program does not trust', async () => {
    const evil = 'https://evil.example.com';
    const { client, sent } = setUp({ answers: naming({ resource: url, authorization_servers: [evil] }) });
    await assert.rejects(
      client.fetch(url),
      (error) => error instanceof AuthorizationError && error.code === 'untrusted_issuer',
    );
    assert.ok(sent.every((one) => !one.url.startsWith(evil)));
    const both = setUp({ answers: naming({ resource: url, authorization_servers: [evil, issuer] }) });
    assert.equal((await both.client.fetch(url)).status, 200);
  });

  it("'any': neither plain http, nor this machine unless the API is here", async () => {
    for (const named of [
      'http://login.example.com',
      'http://localhost:1234',
      'https://127.0.0.1',
      'nonsense',
    ]) {
      const answers = naming({ resource: url, authorization_servers: [named] });
      const { client, sent } = setUp({ issuers: 'any', answers });
      await assert.rejects(client.fetch(url), { code: 'untrusted_issuer' });
      assert.equal(sent.length, 2);
    }
    const { client } = setUp({ issuers: 'any' });
    assert.equal((await client.fetch(url)).status, 200);
  });

  it('metadata of another resource or issuer, elsewhere, or none', async () => {
    const named = (address: string) => ({
      [url]: () => challenge(401, `Bearer resource_metadata="${address}"`),
      'https://evil.example.com/metadata': () =>
        Response.json({ resource: url, authorization_servers: [issuer] }),
    });
    for (const [answers, problem] of [
      [
        naming({ resource: 'https://evil.example.com/mcp', authorization_servers: [issuer] }),
        /they are of https/,
      ],
      [naming({ resource: `${url}/admin`, authorization_servers: [issuer] }), /they are of https/],
      [naming({ authorization_servers: [issuer] }), /they are of undefined/],
      [named('https://evil.example.com/metadata'), /which is another server/],
      [named('nonsense'), /which is another server/],
      [{ [metadataAt]: () => new Response(null, { status: 404 }) }, /there are none/],
      [
        {
          [`${issuer}/.well-known/oauth-authorization-server`]: () =>
            Response.json({ issuer: 'https://evil.example.com', token_endpoint: `${issuer}/token` }),
        },
        /they are of https:\/\/evil\.example\.com/,
      ],
    ] as const) {
      const { client, tokens, to } = setUp({ answers });
      await assert.rejects(client.fetch(url), (error) => {
        assert.ok(error instanceof ConnectionError, String(error));
        assert.match(error.message, problem);
        return true;
      });
      assert.deepEqual([tokens(), to('https://evil.example.com/metadata')], [[], []]);
    }
  });

  it('another address than the API, and where it redirects to', async () => {
    const { client, sent } = setUp({
      answers: { [url]: () => Response.redirect('https://evil.example.com/mcp', 307) },
    });
    for (const address of [
      'https://evil.example.com/mcp',
      'https://tools.example.com/other',
      `${url}/../other`,
    ])
      await assert.rejects(client.fetch(address), TypeError);
    assert.equal(sent.length, 0);
    await assert.rejects(client.fetch(url), /redirect/);
    assert.equal(sent.length, 1);
  });

  it('TypeError: wrong options, and a body that cannot be sent again', async () => {
    for (const wrong of [
      { issuers: [] },
      { issuers: ['http://login.example.com'] },
      { url: 'http://a.example' },
    ])
      assert.throws(() => setUp(wrong), TypeError);
    const { client } = setUp();
    const body = new ReadableStream();
    await assert.rejects(client.fetch(url, { method: 'POST', body }), TypeError);
  });
});

describe('discovery', () => {
  it('metadata at the addresses of RFC 9728, RFC 8414 and OpenID Connect, in this order', async () => {
    const tenant = `${issuer}/tenant`;
    const { client, sent } = setUp({
      issuers: [tenant],
      answers: {
        'https://tools.example.com/.well-known/oauth-protected-resource/mcp': () =>
          new Response(null, { status: 404 }),
        'https://tools.example.com/.well-known/oauth-protected-resource': () =>
          Response.json({ resource: 'https://tools.example.com', authorization_servers: [tenant] }),
        [`${tenant}/.well-known/openid-configuration`]: () =>
          Response.json({ issuer: tenant, token_endpoint: `${issuer}/token` }),
      },
    });
    assert.equal((await client.fetch(url)).status, 200);
    assert.deepEqual(
      sent.slice(1, -2).map((one) => one.url),
      [
        'https://tools.example.com/.well-known/oauth-protected-resource/mcp',
        'https://tools.example.com/.well-known/oauth-protected-resource',
        `${issuer}/.well-known/oauth-authorization-server/tenant`,
        `${issuer}/.well-known/openid-configuration/tenant`,
        `${tenant}/.well-known/openid-configuration`,
      ],
    );
    assert.equal(sent.at(-2)?.form.resource, 'https://tools.example.com', 'exactly as published');
  });

  it('challenges', () => {
    for (const [text, read] of [
      ['Bearer', {}],
      ['Bearer scope="a b", error=invalid_token', { scope: 'a b', error: 'invalid_token' }],
      ['DPoP algs="ES256", Bearer Scope="a"', { algs: 'ES256', scope: 'a' }],
      [
        'Bearer error_description="needs \\"x\\", scope=\\"all\\"", scope="a"',
        { error_description: 'needs "x", scope="all"', scope: 'a' },
      ],
      ['Bearer scope="a", Bearer scope="b"', { scope: 'a' }],
    ] as const)
      assert.deepEqual({ ...readChallenge(challenge(401, text)) }, read);
  });
});
