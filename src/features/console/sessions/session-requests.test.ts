/** Requests with a session: who may send them, and that they reach the same routes as requests with a token. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, describe, it } from 'node:test';
import { newAgent, startOfMinute } from '../../../../test/support/harness.ts';
import {
  consoleOrigin,
  createConsoleClient,
  fromPage,
  sessionUrl,
  startConsoleApp,
} from '../../../../test/support/scenarios/console.ts';

const t = await startConsoleApp();
const web = createConsoleClient(t);
const { operator } = t;
const cookie = await web.cookieOf(operator);

describe('cross-site request forgery', () => {
  const header = { 'x-countersign-console': '1' };
  const otherOrigins = [
    'https://evil.example',
    'http://localhost:3001',
    'https://localhost:3000',
    'null',
    '',
  ];
  const allowed: Record<string, string>[] = [
    { ...header, 'sec-fetch-site': 'same-origin' },
    { ...header, origin: consoleOrigin },
    { ...header, origin: consoleOrigin, 'sec-fetch-site': 'same-origin' },
  ];
  const refused: Record<string, string>[] = [
    {},
    header,
    { 'sec-fetch-site': 'same-origin' },
    { origin: consoleOrigin },
    { 'sec-fetch-site': 'same-origin', 'x-countersign-console': '0' },
    { 'sec-fetch-site': 'same-origin', 'x-countersign-console': 'true' },
    ...['same-site', 'cross-site', 'none', 'Same-Origin', ''].map((site) => ({
      ...header,
      'sec-fetch-site': site,
    })),
    ...otherOrigins.map((origin) => ({ ...header, origin })),
    ...otherOrigins.map((origin) => ({ ...header, origin, 'sec-fetch-site': 'cross-site' })),
    { ...header, origin: `${consoleOrigin}/` },
    { ...header, origin: `${consoleOrigin}, https://evil.example` },
    { ...header, referer: `${consoleOrigin}/console` },
  ];
  const changes: ['POST' | 'PATCH' | 'PUT' | 'DELETE', string, object | undefined][] = [
    ['POST', '/console/api/v1/agents', newAgent()],
    ['PATCH', `/console/api/v1/agents/${operator.agentId}`, {}],
    ['DELETE', `/console/api/v1/agents/${crypto.randomUUID()}`, undefined],
    ['PUT', `/console/api/v1/agents/${operator.agentId}/keys`, { keys: [] }],
    ['POST', '/console/api/v1/nothing-here', {}],
    ['POST', sessionUrl, { clientId: operator.clientId, clientSecret: operator.clientSecret }],
    ['DELETE', sessionUrl, undefined],
  ];
  const send = (method: 'POST' | 'PATCH' | 'PUT' | 'DELETE', url: string, payload?: object, headers = {}) =>
    t.call(method, url, { headers: { cookie, ...headers }, ...(payload && { payload }) });

  for (const [method, url, payload] of changes)
    it(`403 FORBIDDEN for ${method} ${url.replace(/[0-9a-f-]{36}/, '…')} that does not come from a page of the console`, async () => {
      for (const headers of refused) {
        const answer = await send(method, url, payload, headers);
        assert.deepEqual([answer.status, answer.json.code], [403, 'FORBIDDEN'], JSON.stringify(headers));
        assert.match(answer.json.message, /X-Countersign-Console: 1|Sec-Fetch-Site must be/);
        assert.equal(answer.headers['set-cookie'], undefined);
        assert.ok(answer.headers['x-ratelimit-limit']);
      }
    });

  it('changes nothing when it refuses: the session is still there', async () => {
    assert.equal((await web.call(cookie, 'GET', sessionUrl)).status, 200);
  });

  it('lets changes from a page in, by either header of the browser', async () => {
    for (const headers of allowed) {
      const answer = await send('POST', '/console/api/v1/agents', newAgent(), headers);
      assert.equal(answer.status, 201, `${JSON.stringify(headers)} ${answer.text}`);
      const { clientId, clientSecret } = operator;
      assert.equal(
        (await t.call('POST', sessionUrl, { payload: { clientId, clientSecret }, headers })).status,
        204,
      );
      assert.equal((await t.call('DELETE', sessionUrl, { headers })).status, 204);
    }
  });

  const reads = [
    '/console/api/v1/agents',
    `/console/api/v1/agents/${operator.agentId}`,
    `/console/api/v1/agents/${crypto.randomUUID()}`,
    '/console/api/v1/nothing-here',
    '/console/api/oidc/identity',
    sessionUrl,
  ];

  it('403 FORBIDDEN for GET and HEAD from another origin, of the same site too, whether or not the object exists', async () => {
    for (const method of ['GET', 'HEAD'] as const)
      for (const url of reads)
        for (const site of ['same-site', 'cross-site', 'Same-Origin', 'same-origin, none', '']) {
          const answer = await t.call(method, url, { headers: { cookie, 'sec-fetch-site': site } });
          assert.equal(answer.status, 403, `${method} ${url} ${site}`);
          if (method === 'GET') assert.match(answer.json.message, /Sec-Fetch-Site must be/);
          assert.equal(answer.headers['cross-origin-resource-policy'], 'same-origin');
        }
  });

  it('lets GET and HEAD in from a page, from the address bar, and from a program', async () => {
    for (const method of ['GET', 'HEAD'] as const)
      for (const headers of [{}, { 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'none' }])
        for (const url of ['/console/api/v1/agents', sessionUrl])
          assert.equal((await t.call(method, url, { headers: { ...headers, cookie } })).status, 200);
  });

  it('no other origin may embed an answer to a session, and API answers do not change', async () => {
    for (const url of reads) {
      const { headers } = await web.call(cookie, 'GET', url);
      assert.equal(headers['cross-origin-resource-policy'], 'same-origin', url);
      assert.equal(headers['cross-origin-opener-policy'], 'same-origin', url);
    }
    const { headers } = await t.call('GET', '/api/v1/agents', { token: await t.token() });
    assert.equal(headers['cross-origin-resource-policy'], undefined);
  });

  it('no answer to another origin allows credentials, also with CORS', async () => {
    const open = await startConsoleApp({ CORS_ORIGIN: '*' }, t);
    const preflight = await open.call('OPTIONS', '/console/api/v1/agents', {
      headers: {
        origin: 'https://evil.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'x-countersign-console,content-type',
      },
    });
    assert.equal(preflight.headers['access-control-allow-credentials'], undefined);
    const answer = await open.call('POST', '/console/api/v1/agents', {
      payload: newAgent(),
      headers: { cookie, origin: 'https://evil.example', 'x-countersign-console': '1' },
    });
    assert.equal(answer.status, 403);
    assert.equal(answer.headers['access-control-allow-credentials'], undefined);
  });
});

describe('cookies and tokens do not mix', () => {
  it('401 UNAUTHORIZED at /console/api/* with a token, of any kind', async () => {
    const token = await t.token();
    const basic = `Basic ${btoa(`${operator.clientId}:${operator.clientSecret}`)}`;
    for (const authorization of [`Bearer ${token}`, basic])
      for (const url of [sessionUrl, '/console/api/v1/agents', '/console/api/v1/compliance/controls']) {
        const answer = await t.call('GET', url, { headers: { authorization } });
        assert.deepEqual([answer.status, answer.json.code], [401, 'UNAUTHORIZED'], url);
        assert.equal(answer.headers['www-authenticate'], 'Cookie realm="countersign console"');
      }
    const introspection = await t.call('POST', '/console/api/v1/token/introspect', {
      payload: `token=${token}`,
      headers: { ...fromPage, authorization: basic, 'content-type': 'application/x-www-form-urlencoded' },
    });
    assert.equal(introspection.status, 401);
  });

  it('401 UNAUTHORIZED at /api/v1/* with a cookie, and an ignored cookie beside a token', async () => {
    for (const path of ['/agents', '/audit', '/organizations', '/usage'])
      assert.equal((await t.call('GET', `/api/v1${path}`, { headers: { cookie } })).status, 401, path);
    const narrow = await t.token('audit:read');
    const answer = await t.call('GET', '/api/v1/agents', { token: narrow, headers: { cookie } });
    assert.deepEqual([answer.status, answer.json.code], [403, 'INSUFFICIENT_SCOPE']);
    // And an ignored token beside a cookie.
    const mirrored = await t.call('GET', '/console/api/v1/agents', { token: narrow, headers: { cookie } });
    assert.equal(mirrored.status, 200);
  });

  it('401 UNAUTHORIZED for garbage, empty, repeated and foreign cookies', async () => {
    const secret = cookie.split('=')[1] ?? '';
    const other = (await web.cookieOf(operator)).split('=')[1] ?? '';
    const cookies = [
      '',
      ';',
      '=',
      'countersign',
      'countersign=',
      'countersign=%00',
      `countersign="${secret}"`,
      `countersign=${secret}=`,
      `countersign= ${secret.slice(1)}`,
      `countersign=${secret}x`,
      `countersign=${secret.slice(0, -1)}`,
      `countersign=${secret.toLowerCase()}`,
      `Countersign=${secret}`,
      `__Host-countersign=${secret}`,
      `countersign=${secret}; countersign=${other}`,
      `countersign=${secret}; countersign=${secret}`,
      `countersign=${'A'.repeat(43)}`,
      "countersign=' or 1=1 --",
      `x=countersign=${secret}`,
      ';'.repeat(4_000),
    ];
    for (const value of cookies) {
      const answer = await t.call('GET', '/console/api/v1/agents', { headers: { cookie: value } });
      assert.deepEqual([answer.status, answer.json.code], [401, 'UNAUTHORIZED'], value.slice(0, 80));
    }
    for (const value of [`a=b; ${cookie}`, `${cookie};`, ` ${cookie} ; other=1`, `x="a;b"; ${cookie}`])
      assert.equal((await t.call('GET', sessionUrl, { headers: { cookie: value } })).status, 200, value);
  });

  it('431 HEADERS_TOO_LARGE for a cookie of 100 KB', async () => {
    const base = await t.app.http.server.listen({ host: '127.0.0.1', port: 0 });
    const socket = connect(Number(new URL(base).port), '127.0.0.1');
    after(() => socket.destroy());
    socket.on('error', () => {});
    socket.write(
      `GET ${sessionUrl} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nCookie: countersign=${'x'.repeat(100_000)}\r\n\r\n`,
    );
    let received = '';
    for await (const chunk of socket) received += chunk;
    assert.match(received, /^HTTP\/1\.1 431 /);
    assert.match(received, /HEADERS_TOO_LARGE/);
  });
});

describe('GET /console/api/session', () => {
  it('200 with the agent, its organization, its scopes and the end of the session', async () => {
    const me = await web.call(cookie, 'GET', sessionUrl);
    const { expiresAt, agentName, scopes, ...rest } = me.json;
    assert.deepEqual(rest, {
      agentId: operator.agentId,
      organizationId: operator.organizationId,
      organizationName: rest.organizationName,
      organizationSlug: rest.organizationSlug,
      planTier: 'enterprise',
      role: 'none',
      person: null,
      multiTenant: false,
      dev: true,
    });
    assert.match(agentName, /@/);
    assert.ok(scopes.includes('admin:orgs') && scopes.includes('agents:read'));
    assert.ok(Math.abs(Date.parse(expiresAt) - t.clock.now() - 8 * 3_600_000) < 120_000);
    assert.equal(me.headers['cache-control'], 'no-store');
  });

  it('200 with the role of a member, and dev: false in production', async () => {
    const app = await startConsoleApp({ NODE_ENV: 'production', MULTI_TENANT: 'true' }, t);
    const agent = await t.agent();
    await t.call('POST', `/api/v1/organizations/${operator.organizationId}/members`, {
      token: await t.token(),
      payload: { agentId: agent.agentId, role: 'admin' },
    });
    const me = await createConsoleClient(app).call(await web.cookieOf(agent), 'GET', sessionUrl);
    assert.deepEqual([me.json.role, me.json.dev, me.json.multiTenant], ['admin', false, true]);
  });

  it('401 UNAUTHORIZED without a session', async () => {
    for (const headers of [{}, { cookie: 'theme=dark; countersign-sign-in=x' }]) {
      const answer = await t.call('GET', sessionUrl, { headers });
      assert.deepEqual([answer.status, answer.json.code], [401, 'UNAUTHORIZED']);
      assert.equal(answer.json.message, 'Sign in to the console first.');
    }
  });

  it('401 names the cause when another instance at another port of the host has replaced the cookie', async () => {
    const neighbour = await startConsoleApp({ BASE_URL: 'http://localhost:3001' });
    const theirs = await createConsoleClient(neighbour).cookieOf(neighbour.operator);
    for (const value of [theirs, `${cookie}; ${theirs}`]) {
      const { status, json } = await web.call(value, 'GET', sessionUrl);
      assert.deepEqual([status, json.details], [401, { cookie: 'unknown' }]);
      assert.match(json.message, /has ended: sign in again\. If another instance .* at another port/);
    }
    // On https another name of the host is the rule, and the hint would only confuse.
    const secure = await startConsoleApp({ BASE_URL: 'https://id.example.com' }, t);
    const { json } = await secure.call('GET', sessionUrl, { headers: { cookie: '__Host-countersign=x' } });
    assert.equal(json.message, 'Your session has ended: sign in again.');
  });
});

describe('/console/api/v1', () => {
  it('answers as /api/v1 does, for routes of every kind of access', async () => {
    const token = await t.token();
    const paths = [
      // By scope, by policy, with any token, open.
      '/agents?limit=5',
      `/agents/${operator.agentId}`,
      `/organizations/${operator.organizationId}`,
      '/organizations',
      '/delegations',
      '/audit?limit=1&action=agent.created',
      '/compliance/controls',
      '/marketplace/agents',
      '/webhooks',
      '/resources',
      `/agents/${operator.agentId}/access`,
      `/agents/${crypto.randomUUID()}`,
      '/agents/no-uuid',
      '/agents?limit=1000',
      '/nothing-here',
    ];
    for (const path of paths) {
      const [api, mirror] = [
        await t.call('GET', `/api/v1${path}`, { token }),
        await web.call(cookie, 'GET', path),
      ];
      assert.equal(mirror.status, api.status, path);
      const text = (body: string) => body.replace(/"(checkedAt|generatedAt|timestamp)":"[^"]*"/g, '');
      assert.equal(text(mirror.text), text(api.text), path);
    }
  });

  it('200 for introspection by the scope of the session; 404 ROUTE_NOT_FOUND for routes of clients', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded', ...fromPage, cookie };
    const payload = `token=${await t.token()}`;
    const introspected = await t.call('POST', '/console/api/v1/token/introspect', { payload, headers: form });
    assert.deepEqual([introspected.status, introspected.json.active], [200, true], introspected.text);
    for (const path of ['/token', '/oidc/token']) {
      const answer = await t.call('POST', `/console/api/v1${path}`, {
        payload: `grant_type=client_credentials&client_id=${operator.clientId}&client_secret=${operator.clientSecret}`,
        headers: form,
      });
      assert.equal(answer.status, 404, `${path} ${answer.text}`);
    }
  });

  it('401 UNAUTHORIZED without a session, on open routes too', async () => {
    for (const path of ['/agents', '/compliance/controls', '/marketplace/agents', '/nothing-here'])
      assert.equal((await web.call(undefined, 'GET', path)).status, 401, path);
  });

  it('404 ROUTE_NOT_FOUND for paths beside it', async () => {
    for (const path of [
      '/console/api',
      '/console/api/',
      '/console/api/v1',
      '/console/api/v2/agents',
      '/console/api%2Fv1/agents',
    ]) {
      const answer = await web.call(cookie, 'GET', path);
      assert.deepEqual([answer.status, answer.json.code], [404, 'ROUTE_NOT_FOUND'], path);
    }
    const method = await web.call(cookie, 'PUT', '/agents');
    assert.deepEqual([method.status, method.json.code], [405, 'METHOD_NOT_ALLOWED']);
  });

  it('403 INSUFFICIENT_SCOPE and FORBIDDEN as for a token of the same agent', async () => {
    const agent = await t.agent({ allowedScopes: ['agents:read'] });
    const session = await web.cookieOf(agent);
    const token = await t.token(undefined, agent);
    for (const path of ['/agents', '/audit', '/organizations', '/resources', '/webhooks']) {
      const [api, mirror] = [
        await t.call('GET', `/api/v1${path}`, { token }),
        await web.call(session, 'GET', path),
      ];
      assert.deepEqual([mirror.status, mirror.json.code], [api.status, api.json.code], path);
    }
    // Without more scopes than it has itself.
    const created = await web.call(session, 'POST', '/agents', newAgent());
    assert.deepEqual([created.status, created.json.code], [403, 'INSUFFICIENT_SCOPE']);
  });

  it('a scope that the agent loses ends at once; one that it gains needs a new session', async () => {
    const agent = await t.agent({ allowedScopes: ['agents:read', 'audit:read'] });
    const session = await web.cookieOf(agent);
    const change = async (allowedScopes: string[]) =>
      t.call('PATCH', `/api/v1/agents/${agent.agentId}`, {
        token: await t.token(),
        payload: { allowedScopes },
      });
    await change(['agents:read', 'webhooks:read']);
    assert.deepEqual((await web.call(session, 'GET', sessionUrl)).json.scopes, ['agents:read']);
    assert.equal((await web.call(session, 'GET', '/audit')).status, 403);
    assert.equal((await web.call(session, 'GET', '/webhooks')).status, 403);
  });

  it('shows nothing of another organization', async () => {
    const token = await t.token();
    const { organizationId } = (
      await t.call('POST', '/api/v1/organizations', {
        token,
        payload: { name: 'Other', slug: `other-${crypto.randomUUID().slice(0, 8)}`, planTier: 'pro' },
      })
    ).json;
    const outsider = await t.agent({ organization_id: organizationId });
    const session = await web.cookieOf(outsider);
    assert.equal((await web.call(session, 'GET', sessionUrl)).json.organizationId, organizationId);
    assert.equal((await web.call(session, 'GET', `/agents/${operator.agentId}`)).status, 404);
    assert.deepEqual(
      (await web.call(session, 'GET', '/agents')).json.data.map(
        ({ agentId }: { agentId: string }) => agentId,
      ),
      [outsider.agentId],
    );
  });

  it('the audit event of a change names the agent of the session', async () => {
    const created = await web.call(cookie, 'POST', '/agents', newAgent());
    assert.equal(created.status, 201, created.text);
    const [event] = await t.sql<{ metadata: Record<string, unknown> }>(
      "select metadata from audit_events where action = 'agent.created' and agent_id = $1",
      [created.json.agentId],
    );
    assert.equal(event?.metadata.actorId, operator.agentId);
    assert.equal(event?.metadata.person, undefined);
  });

  it('an Idempotency-Key works through it', async () => {
    const key = { 'idempotency-key': crypto.randomUUID() };
    const payload = newAgent();
    const [first, again] = [
      await web.call(cookie, 'POST', '/agents', payload, key),
      await web.call(cookie, 'POST', '/agents', payload, key),
    ];
    assert.deepEqual([first.status, again.status, again.json], [201, 201, first.json]);
    assert.equal(again.headers['idempotency-replayed'], 'true');
  });

  it('429: requests count in a window of 600 that is not that of the agent', async () => {
    const limited = await startConsoleApp({ RATE_LIMIT_PER_MINUTE: '5' }, t);
    startOfMinute(t.clock);
    const agent = await t.agent();
    const token = await t.token(undefined, agent);
    const session = await web.cookieOf(agent);
    const program = () => limited.call('GET', '/api/v1/agents', { token });
    const statuses = [];
    for (let count = 0; count < 6; count += 1) statuses.push((await program()).status);
    assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429]);
    // A program of the agent has used up its window: the console goes on.
    const ask = () => createConsoleClient(limited).call(session, 'GET', '/agents');
    const first = await ask();
    assert.deepEqual(
      [first.status, first.headers['x-ratelimit-limit'], first.headers['x-ratelimit-remaining']],
      [200, '600', '599'],
    );
    await Promise.all(Array.from({ length: 599 }, ask));
    const refused = await ask();
    assert.deepEqual([refused.status, refused.json.code], [429, 'RATE_LIMIT_EXCEEDED']);
    assert.ok(Number(refused.headers['retry-after']) > 0);
    // A second session of the agent has no window of its own.
    const second = await createConsoleClient(limited).call(await web.cookieOf(agent), 'GET', '/agents');
    assert.equal(second.status, 429);
    const other = await web.cookieOf(await t.agent());
    assert.equal((await createConsoleClient(limited).call(other, 'GET', '/agents')).status, 200);
  });

  it('429: a lower limit of the agent holds for its sessions too, at once; a higher one does not raise theirs', async () => {
    const limited = createConsoleClient(await startConsoleApp({ RATE_LIMIT_PER_MINUTE: '5' }, t));
    startOfMinute(t.clock);
    const agent = await t.agent();
    const session = await web.cookieOf(agent);
    const limitTo = async (rateLimitPerMinute: number | null) => {
      const url = `/api/v1/agents/${agent.agentId}`;
      const answer = await t.call('PATCH', url, { token: await t.token(), payload: { rateLimitPerMinute } });
      assert.equal(answer.status, 200, answer.text);
    };
    const ask = async () => {
      const { status, headers } = await limited.call(session, 'GET', '/agents');
      return [status, headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']];
    };
    await limitTo(3);
    assert.deepEqual(await ask(), [200, '3', '2']);
    assert.deepEqual(await ask(), [200, '3', '1']);
    assert.deepEqual(await ask(), [200, '3', '0']);
    assert.deepEqual(await ask(), [429, '3', '0']);
    await limitTo(5_000);
    assert.deepEqual(await ask(), [200, '600', '595']);
    await limitTo(null);
    assert.deepEqual(await ask(), [200, '600', '594']);
  });

  it('requests count against the plan of the organization', async () => {
    const { organizationId } = (
      await t.call('POST', '/api/v1/organizations', {
        token: await t.token(),
        payload: { name: 'Small', slug: `small-${crypto.randomUUID().slice(0, 8)}` },
      })
    ).json;
    const small = await t.agent({ organization_id: organizationId });
    const ownSession = await web.cookieOf(small);
    const callsOf = async () =>
      (await t.call('GET', '/api/v1/tiers/status', { token: await t.token(undefined, small) })).json.usage
        .callsToday;
    const before = await callsOf();
    for (let count = 0; count < 3; count += 1) await web.call(ownSession, 'GET', '/agents');
    await web.call(ownSession, 'GET', sessionUrl);
    assert.equal((await callsOf()) - before, 3);
  });

  it('its requests have the labels of the API in the metrics', async () => {
    const countOf = async (route: string) => {
      const { text } = await t.call('GET', '/metrics');
      const line = new RegExp(
        `^service_http_requests_total\\{method="GET",route="${route}",status_code="200"\\} (\\d+)$`,
        'm',
      );
      return Number(line.exec(text)?.[1] ?? 0);
    };
    const before = await countOf('/api/v1/agents');
    await web.call(cookie, 'GET', '/agents');
    assert.equal(await countOf('/api/v1/agents'), before + 1);
    const { text } = await t.call('GET', '/metrics');
    assert.doesNotMatch(text, /route="\/console\/api\/v1/);
  });
});
