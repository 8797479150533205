/** Requests of the server to its own API: what they keep of the request they belong to, and what they cannot reach. */
import assert from 'node:assert/strict';
import { beforeEach, it } from 'node:test';
import { startHttp } from '../../../../test/support/bare-http.ts';
import Type from '../../../contract/json-schema.ts';
import { bearer, open, type RouteEntry, rootRoute, scope, session } from '../route.ts';
import type { Identity } from './identity.ts';
import type { InnerRequest } from './inner-requests.ts';

const identity: Identity = {
  agentId: '00000000-0000-4000-8000-000000000001',
  organizationId: '00000000-0000-4000-8000-000000000002',
  organizationStatus: 'active',
  planTier: 'pro',
  scopes: new Set(['agents:read']),
  grantableScopes: new Set(['agents:read']),
};

let isLive = true;
/** What the route `/outer` sends, and does before that. */
let sends: { operations: string[]; request: InnerRequest; before?: () => void };
let counted: string[] = [];

beforeEach(() => {
  isLive = true;
  counted = [];
});

const route = (url: string, access: RouteEntry['access'], handler: RouteEntry['handler']) =>
  rootRoute({
    id: url,
    summary: url,
    tag: 'Test',
    method: url === '/outer' || url === '/open-outer' ? 'POST' : 'GET',
    url,
    access,
    limit: 'caller',
    schema: { response: { 200: Type.Unsafe<object>({}) } },
    handler: handler as never,
  });

const forward: RouteEntry['handler'] = async ({ sendInner }) => {
  sends.before?.();
  const { status, text } = await sendInner(sends.operations, sends.request);
  return { status, body: JSON.parse(text) };
};
const who: RouteEntry['handler'] = ({ caller, origin }) => ({ agentId: caller?.agentId ?? null, ...origin });

const { server } = await startHttp(
  [
    route('/outer', bearer(), forward),
    route('/open-outer', open(), forward),
    route('/who', scope('agents:read'), who),
    route('/audit', scope('audit:read'), who),
    route('/open', open(), who),
    route('/session', session(), who),
  ],
  {},
  [],
  {
    authenticate: async (token) => (isLive && token === 'good' ? identity : undefined),
    countCall: ({ agentId }) => void counted.push(agentId),
  },
);

async function ask(
  given: typeof sends,
  { url = '/outer', ...headers }: Record<string, string> & { url?: string } = {},
) {
  sends = given;
  const answer = await server.inject({
    method: 'POST',
    url,
    headers: { authorization: 'Bearer good', 'user-agent': 'a host', ...headers },
    remoteAddress: '203.0.113.7',
  });
  return { status: answer.statusCode, id: answer.headers['x-request-id'], json: answer.json() };
}
const get = (url: string, headers?: Record<string, string>): InnerRequest => ({
  method: 'GET',
  url,
  ...(headers && { headers }),
});

it('keep the caller, the address, the user agent and the id of the request, whatever their headers say', async () => {
  const inner = get('/who', {
    authorization: 'Bearer other',
    cookie: 'countersign=other',
    'x-request-id': 'other',
    'user-agent': 'other',
    'x-forwarded-for': '198.51.100.1',
  });
  const { id, json } = await ask({ operations: ['/who'], request: inner });
  assert.deepEqual(json, {
    status: 200,
    body: {
      agentId: identity.agentId,
      requestId: id,
      ipAddress: '203.0.113.7',
      userAgent: 'a host',
    },
  });
  assert.deepEqual(counted, [identity.agentId, identity.agentId], 'both count against the plan');
});

it('403 INSUFFICIENT_SCOPE as for every request of the caller', async () => {
  const { json } = await ask({ operations: ['/audit'], request: get('/audit') });
  assert.deepEqual([json.status, json.body.code], [403, 'INSUFFICIENT_SCOPE']);
});

it('404 ROUTE_NOT_FOUND for an operation that is not named, and for one that no token opens', async () => {
  for (const [operations, url] of [
    [['/audit'], '/who'],
    [[], '/who'],
    [['/open'], '/open'],
    [['/session'], '/session'],
    [['/who'], '/nowhere'],
    [['/who'], '/who/../audit'],
  ] as const) {
    const { json } = await ask({ operations: [...operations], request: get(url) });
    assert.deepEqual([json.status, json.body.code], [404, 'ROUTE_NOT_FOUND'], url);
  }
});

it('401 UNAUTHORIZED when the token has ended since the request began', async () => {
  const before = () => {
    isLive = false;
  };
  const { json } = await ask({ operations: ['/who'], request: get('/who'), before });
  assert.deepEqual([json.status, json.body.code], [401, 'UNAUTHORIZED']);
});

it('500 for a route that lets in anyone: there is no caller to keep', async () => {
  const withoutCaller = { operations: ['/who'], request: get('/who') };
  const { status } = await ask(withoutCaller, { url: '/open-outer', authorization: 'Bearer bad' });
  assert.equal(status, 500);
});

it('401 UNAUTHORIZED for a request from the network beside one that waits', async () => {
  let beside: Promise<{ statusCode: number }> | undefined;
  const before = () => {
    beside = server.inject('/who').then((answer) => answer);
  };
  await ask({ operations: ['/who'], request: get('/who'), before });
  assert.equal((await beside)?.statusCode, 401);
});
