/** The guard's steps one by one, with a fake window and fake ports. guard.test.ts has them over HTTP. */
import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { describe, it } from 'node:test';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Scope } from '../../../contract/scopes.ts';
import { ApiError, fail } from '../../fail.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { RequirePermission } from '../../policy.ts';
import type { RateWindow, WindowState } from '../rate-window.ts';
import {
  type Access,
  bearer,
  bearerWithScopeFor,
  open,
  ownBearer,
  policy,
  type RouteEntry,
  scope,
} from '../route.ts';
import { type AuthorizeCallerDeps, createAuthorizeCaller } from './authorize-caller.ts';
import { refuseClientCredentials, refuseUnidentified, requireScope } from './challenges.ts';
import { hasProof, mayCarryClientCredentials, readClientFields } from './client-credentials.ts';
import { type Identity, isUsable, type RequestContext } from './identity.ts';
import { createRateLimiter } from './rate-limiter.ts';
import {
  createAuthorizeSession,
  isForeignSubresource,
  isSessionRequest,
  rewriteUrl,
  type SessionDeps,
} from './session-requests.ts';

const metadata = 'https://id.test/.well-known/oauth-protected-resource';

async function errorOf(work: () => unknown): Promise<ApiError> {
  try {
    await work();
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

const identity = (changes: Partial<Identity> = {}): Identity => ({
  agentId: 'agent-1',
  organizationId: 'organization-1',
  organizationStatus: 'active',
  planTier: 'pro',
  scopes: new Set<Scope>(['agents:read']),
  grantableScopes: new Set<Scope>(),
  tokenId: 'token-1',
  ...changes,
});
const contextFrom = (ipAddress = '192.0.2.1'): RequestContext => ({
  origin: { requestId: 'request-1', ipAddress, userAgent: 'test' },
});
const callerIn = ({ caller }: RequestContext) => caller?.agentId;
const entryWith = (access: Access, changes: Partial<RouteEntry> = {}) =>
  ({ id: 'anOperation', method: 'GET', path: '/x', access, limit: 'caller', ...changes }) as RouteEntry;
const requestWith = (changes: object = {}) =>
  ({ params: {}, query: {}, headers: {}, ...changes }) as FastifyRequest;

/** Records the headers that are set, and the subjects that are counted. */
function createFakes({ exceeded = false, limit = 100 } = {}) {
  const headers: Record<string, string> = {};
  const counted: [subject: string, perMinute: number | undefined][] = [];
  const hits: unknown[] = [];
  const reply = {
    header: (name: string, value: string) => void Object.assign(headers, { [name]: value }),
    headers: (values: Record<string, string>) => void Object.assign(headers, values),
  } as unknown as FastifyReply;
  const state: WindowState = { limit, remaining: 7, resetAt: 120, exceeded, retryAfterSeconds: 9 };
  const window: RateWindow = {
    count(subject, perMinute) {
      counted.push([subject, perMinute]);
      return { ...state, limit: perMinute ?? limit };
    },
    peek: async (subject) => ({ ...state, limit: subject.length }),
    unused: () => ({ ...state, remaining: limit, exceeded: false }),
  };
  const metrics = { count: (...args: unknown[]) => hits.push(args) } as unknown as Metrics;
  return { headers, counted, hits, reply, counting: createRateLimiter({ window, metrics }) };
}

describe('the challenge of a 401', () => {
  const challenge = (token?: string, basic = false, description?: string) =>
    errorOf(() => refuseUnidentified(token, { metadata, basic }, description));

  it('without a token has no error, and the message of the contract', async () => {
    const { headers, message } = await challenge();
    assert.equal(headers['www-authenticate'], `Bearer resource_metadata="${metadata}"`);
    assert.doesNotMatch(message, /expired, revoked/);
  });
  it('with a token has invalid_token, and no description unless one is known', async () => {
    const { headers, message } = await challenge('garbage');
    assert.equal(
      headers['www-authenticate'],
      `Bearer error="invalid_token", resource_metadata="${metadata}"`,
    );
    assert.equal(message, 'The access token is expired, revoked or not one of ours.');
  });
  it('has a known description, in printable ASCII without quotes and backslashes', async () => {
    const { headers, message } = await challenge('ours', false, ' a"b\\c\u00e9\u007f~!#[]\n');
    assert.match(headers['www-authenticate'] ?? '', /error_description=" a\?b\?c\?\?~!#\[\]\?",/);
    assert.equal(message, ' a"b\\c\u00e9\u007f~!#[]\n');
  });
  it('names Basic where client credentials are accepted', async () => {
    const { headers } = await challenge(undefined, true);
    assert.match(headers['www-authenticate'] ?? '', /, Basic realm="countersign"$/);
  });
  it('has the scope that the route needs', async () => {
    const { headers } = await errorOf(() =>
      refuseUnidentified(undefined, { metadata, basic: false, scope: 'agents:read' }),
    );
    assert.equal(headers['www-authenticate'], `Bearer scope="agents:read", resource_metadata="${metadata}"`);
    const ofClient = await errorOf(() =>
      refuseClientCredentials({ metadata, basic: true, scope: 'tokens:read' }, undefined),
    );
    assert.equal(
      ofClient.headers['www-authenticate'],
      `Basic realm="countersign", Bearer scope="tokens:read", resource_metadata="${metadata}"`,
    );
  });
  it('of client credentials names Basic first, and their reason', async () => {
    const refused = await errorOf(() => refuseClientCredentials({ metadata, basic: true }, 'wrong secret'));
    assert.equal(
      refused.headers['www-authenticate'],
      `Basic realm="countersign", Bearer resource_metadata="${metadata}"`,
    );
    assert.equal(refused.message, 'wrong secret');
    const plain = await errorOf(() => refuseClientCredentials({ metadata, basic: true }, undefined));
    assert.equal(plain.message, (await challenge()).message);
  });
});

describe('a missing scope', () => {
  it('403 INSUFFICIENT_SCOPE names the scope, and what lacks it', async () => {
    const held = { scopes: new Set<Scope>(['agents:read']), tokenId: 'token-1' };
    assert.equal(requireScope(held, 'agents:read', metadata), undefined);
    const ofToken = await errorOf(() => requireScope(held, 'agents:write', metadata));
    assert.equal(
      ofToken.message,
      'This operation needs the scope agents:write, which your token does not carry.',
    );
    assert.deepEqual(ofToken.details, { required: 'agents:write', held: ['agents:read'] });
    assert.equal(
      ofToken.headers['www-authenticate'],
      `Bearer error="insufficient_scope", scope="agents:write", resource_metadata="${metadata}"`,
    );
    const ofClient = await errorOf(() => requireScope({ scopes: new Set() }, 'agents:write', metadata));
    assert.match(ofClient.message, /this client may not hold/);
  });
});

describe('client credentials', () => {
  const form = 'application/x-www-form-urlencoded';
  for (const [headers, expected] of [
    [{}, false],
    [{ 'content-type': form }, true],
    [{ 'content-type': `${form.toUpperCase()}; charset=utf-8` }, true],
    [{ 'content-type': `text/plain, ${form}` }, false],
    [{ 'content-type': 'application/json' }, false],
    [{ authorization: 'Basic abc' }, true],
    [{ authorization: 'basic' }, true],
    [{ authorization: 'Basic\tabc' }, true],
    [{ authorization: 'Basically abc' }, false],
    [{ authorization: 'Not Basic abc' }, false],
    [{ authorization: 'Bearer abc', 'content-type': form }, false],
  ] as const) {
    it(`${expected ? 'may be' : 'are not'} in ${JSON.stringify(headers)}`, () =>
      assert.equal(mayCarryClientCredentials({ headers }), expected));
  }
  it('are the known fields of the form that are text', () => {
    const fields = { client_id: 'a', client_secret: 'b', client_assertion: 7, other: 'c' };
    assert.deepEqual(readClientFields(fields), { client_id: 'a', client_secret: 'b' });
    assert.deepEqual(readClientFields(undefined), {});
    assert.deepEqual(readClientFields(null), {});
  });
  it('400 VALIDATION_ERROR when a field is repeated', async () => {
    const { code } = await errorOf(() => readClientFields({ client_id: ['a', 'b'] }));
    assert.equal(code, 'VALIDATION_ERROR');
    // Validation refuses it later, when the client is known.
    assert.deepEqual(readClientFields({ client_id: 'a', scope: ['b', 'c'] }), { client_id: 'a' });
  });
  it('prove nothing without a secret or an assertion', () => {
    assert.equal(hasProof({ client_id: 'a', client_secret: '' }), false);
    assert.equal(hasProof({ client_secret: 'b' }), true);
    assert.equal(hasProof({ client_assertion: 'c' }), true);
  });
});

it('an identity is usable in an active organization, until its delegation ends', () => {
  assert.equal(isUsable(identity()), true);
  assert.equal(isUsable(identity({ organizationStatus: 'suspended' })), false);
  assert.equal(isUsable(identity({ ended: 'DELEGATION_REVOKED' })), false);
});

describe('counting', () => {
  const shown = { 'x-ratelimit-remaining': '7', 'x-ratelimit-reset': '120' };

  it('counts once, against the client with its own limit or against the network', async () => {
    const { counting, reply, counted, headers } = createFakes();
    const context = contextFrom();
    await counting.countAgainst(reply, context, 'client-1', 30);
    await counting.countAgainst(reply, context, 'client-1', 30);
    await counting.countAgainst(reply, contextFrom('2001:db8::1'), undefined, null);
    assert.deepEqual(counted, [
      ['client:client-1', 30],
      ['ip:2001:db8:0:0::/64', undefined],
    ]);
    assert.deepEqual(headers, { 'x-ratelimit-limit': '100', ...shown });
  });
  it('429 RATE_LIMIT_EXCEEDED above the limit, with the headers', async () => {
    const { counting, reply, headers, hits } = createFakes({ exceeded: true });
    const refused = await errorOf(() => counting.countAgainst(reply, contextFrom(), 'client-1'));
    assert.equal(refused.code, 'RATE_LIMIT_EXCEEDED');
    assert.deepEqual(refused.details, { limit: 100, resetAt: 120 });
    assert.deepEqual(refused.headers, { 'retry-after': '9' });
    assert.deepEqual(headers, { 'x-ratelimit-limit': '100', ...shown });
    await errorOf(() => counting.countAgainst(reply, contextFrom(), undefined));
    assert.deepEqual(hits, [
      ['service_rate_limit_hits_total', { client_id: 'client-1' }],
      ['service_rate_limit_hits_total', { client_id: 'anonymous' }],
    ]);
  });
  it('in the console: the person, the agent or the address, each kind of request apart', async () => {
    const { counting, reply, counted } = createFakes();
    const person = { personId: 'person-1', name: 'Ada', role: 'admin' } as const;
    await counting.countInConsole(reply, contextFrom(), identity({ person }));
    await counting.countInConsole(reply, contextFrom(), identity({ rateLimitPerMinute: 5 }));
    await counting.countInConsole(reply, contextFrom(), identity({ rateLimitPerMinute: 5000 }));
    await counting.countInConsole(reply, contextFrom(), undefined);
    await counting.countPageFile(reply, contextFrom());
    await counting.countForeign(reply, contextFrom());
    assert.deepEqual(counted, [
      ['console:session:person-1', 600],
      ['console:session:agent-1', 5],
      ['console:session:agent-1', 600],
      ['console:ip:192.0.2.1', 600],
      ['console:files:ip:192.0.2.1', 600],
      ['console:foreign:ip:192.0.2.1', 600],
    ]);
  });
  it('in the console: once per request, and up to the limit of the instance where that is higher', async () => {
    const { counting, reply, counted, hits } = createFakes({ limit: 900, exceeded: true });
    const context = contextFrom();
    for (const _ of [1, 2]) await errorOf(() => counting.countInConsole(reply, context, identity()));
    assert.deepEqual(counted, [['console:session:agent-1', 900]]);
    assert.deepEqual(hits[0], ['service_rate_limit_hits_total', { client_id: 'agent-1' }]);
    await errorOf(() => counting.countInConsole(reply, contextFrom(), undefined));
    assert.deepEqual(hits.at(-1), ['service_rate_limit_hits_total', { client_id: 'anonymous' }]);
  });
  it('in the window of a route: per caller or per organization, its headers only when it has its own', async () => {
    const { counting, reply, counted, headers } = createFakes();
    const count = (limit: RouteEntry['limit'] | undefined, who?: Identity) =>
      counting.countInOwnWindow(reply, contextFrom(), limit && entryWith(open(), { limit }), who);
    await count(undefined, identity());
    await count('caller', identity());
    await count({ perMinute: 3, per: 'caller' }, identity());
    await count({ perMinute: 3, per: 'organization' }, identity());
    await count({ perMinute: 3, per: 'organization' });
    assert.deepEqual(headers, {});
    await count({ perMinute: 4, per: 'caller', headers: 'own' });
    assert.equal(headers['x-ratelimit-limit'], '4');
    assert.deepEqual(counted, [
      ['route:anOperation:client:agent-1', 3],
      ['route:anOperation:organization:organization-1', 3],
      ['route:anOperation:ip:192.0.2.1', 3],
      ['route:anOperation:ip:192.0.2.1', 4],
    ]);
  });
  it('429 in the window of a route, for the caller or for an unknown client', async () => {
    const { counting, reply, hits } = createFakes({ exceeded: true });
    const entry = entryWith(open(), { limit: { perMinute: 3, per: 'caller' } });
    for (const who of [identity(), undefined]) {
      const refused = await errorOf(() => counting.countInOwnWindow(reply, contextFrom(), entry, who));
      assert.deepEqual(refused.details, { limit: 3, resetAt: 120 });
    }
    assert.deepEqual(hits, [
      ['service_rate_limit_hits_total', { client_id: 'agent-1' }],
      ['service_rate_limit_hits_total', { client_id: 'anonymous' }],
    ]);
  });
  it('shows a window without counting', async () => {
    const { counting, reply, counted, headers } = createFakes();
    const context = contextFrom();
    await counting.showWindow(reply, context);
    assert.equal(headers['x-ratelimit-limit'], String('ip:192.0.2.1'.length));
    assert.equal(context.counted?.limit, 'ip:192.0.2.1'.length);
    counting.showUnusedWindow(reply, context);
    assert.deepEqual([headers['x-ratelimit-remaining'], context.counted?.remaining], ['100', 100]);
    assert.deepEqual(counted, []);
  });
});

describe('admitting a caller', () => {
  const viewer = { personId: 'person-1', name: 'Ada', role: 'none' } as const;
  const delegation = { subjectId: 'agent-0', actorIds: ['agent-1'], chainIds: ['chain-1'] };

  function createFixture({ countCall = () => {} }: Partial<AuthorizeCallerDeps> = {}) {
    const refusals: unknown[] = [];
    const permissions: Parameters<RequirePermission>[] = [];
    const windows: unknown[] = [];
    const admit = createAuthorizeCaller(
      {
        recordRefusal: async (refusal) => void refusals.push(refusal),
        requirePermission: async (...args) => void permissions.push(args),
        countCall,
        resourceMetadata: metadata,
      },
      { countInOwnWindow: async (_reply, _context, entry) => void windows.push(entry) },
    );
    const context = contextFrom();
    const run = (entry: RouteEntry | undefined, who = identity(), request = requestWith()) =>
      admit(request, {} as FastifyReply, context, entry, who);
    return { run, context, refusals, permissions, windows };
  }
  const quotaError = async () => fail('FREE_TIER_LIMIT_EXCEEDED');

  it('counts the call against the plan, unless the route is free', async () => {
    const { run, context } = createFixture({ countCall: quotaError });
    assert.equal((await errorOf(() => run(entryWith(bearer())))).code, 'FREE_TIER_LIMIT_EXCEEDED');
    assert.equal((await errorOf(() => run(undefined))).code, 'FREE_TIER_LIMIT_EXCEEDED');
    assert.equal(context.caller, undefined);
    await run(entryWith(bearer(), { quota: 'free' }));
    assert.equal(callerIn(context), 'agent-1');
  });
  it('403 FORBIDDEN for a member at every route that is not of the session, before it counts, and it is recorded', async () => {
    const counted: unknown[] = [];
    const { run, refusals } = createFixture({ countCall: (who) => void counted.push(who) });
    const member = identity({ person: { personId: 'person-1', name: 'Ada', role: 'member' } });
    for (const access of [bearer(), scope('agents:read')]) {
      const refused = await errorOf(() => run(entryWith(access), member));
      assert.equal(refused.code, 'FORBIDDEN');
      assert.match(refused.message, /You are a member/);
    }
    assert.deepEqual([refusals.length, counted.length], [2, 0]);
    await run(entryWith({ kind: 'session' }, { method: 'POST' }), member);
    assert.equal(refusals.length, 2);
  });
  it('403 FORBIDDEN when a viewer changes something, and the refusal is recorded', async () => {
    const { run, refusals } = createFixture();
    const change = { method: 'POST' } as const;
    const refused = await errorOf(() => run(entryWith(bearer(), change), identity({ person: viewer })));
    assert.equal(refused.code, 'FORBIDDEN');
    assert.match(refused.message, /You are a viewer/);
    assert.equal(refusals.length, 1);
    const [{ actor, ...refusal }] = refusals as [{ actor: { agentId: string } }];
    assert.equal(actor.agentId, 'agent-1');
    assert.deepEqual(refusal, {
      type: 'policy.refused',
      subject: {
        agentId: 'agent-1',
        organizationId: 'organization-1',
        outcome: 'failure',
        metadata: { operation: 'anOperation', reason: 'viewer' },
      },
    });
    for (const entry of [
      undefined,
      entryWith(bearer()),
      entryWith(bearer(), { ...change, readOnly: true }),
      entryWith({ kind: 'session' }, change),
    ])
      await run(entry, identity({ person: viewer }));
    await run(entryWith(bearer(), change), identity({ person: { ...viewer, role: 'admin' } }));
    await run(entryWith(bearer(), change));
  });
  it('403 INSUFFICIENT_SCOPE without the scope of the route or of a query parameter', async () => {
    const { run } = createFixture();
    for (const access of [scope('agents:write'), { kind: 'clientOrScope', scope: 'agents:write' } as const])
      assert.equal((await errorOf(() => run(entryWith(access)))).code, 'INSUFFICIENT_SCOPE');
    await run(entryWith(scope('agents:read')));
    const scoped = entryWith(bearerWithScopeFor(['secret', 'hidden'], 'agents:write'));
    await run(scoped, identity(), requestWith({ query: { other: '1' } }));
    const refused = await errorOf(() => run(scoped, identity(), requestWith({ query: { hidden: '1' } })));
    assert.equal(refused.code, 'INSUFFICIENT_SCOPE');
  });
  it('403 FORBIDDEN for a delegated token where only its own will do', async () => {
    const { run, refusals } = createFixture();
    const refused = await errorOf(() => run(entryWith(ownBearer()), identity({ delegation })));
    assert.match(refused.message, /A delegated token cannot do this/);
    assert.equal(refusals.length, 1);
    await run(entryWith(ownBearer()));
    await run(entryWith(bearer()), identity({ delegation }));
  });
  it('asks the policy engine, with the foreign error and the scope of the route', async () => {
    const { run, permissions } = createFixture();
    const resource = () => ({ type: 'Organization', id: 'o', organizationId: 'o' }) as never;
    const ids = requestWith({ params: { agentId: '00000000-0000-4000-8000-000000000000' } });
    await run(entryWith(policy('agents:update' as never, resource)), identity(), ids);
    await run(
      entryWith(policy('agents:update' as never, resource, 'AGENT_NOT_FOUND', 'agents:write')),
      identity(),
      ids,
    );
    const [plain, full] = permissions.map(([, , , options]) => options);
    assert.deepEqual(plain, {});
    assert.deepEqual(Object.keys(full ?? {}), ['foreign', 'refuse']);
    assert.equal(full?.foreign, 'AGENT_NOT_FOUND');
    assert.equal((await errorOf(() => full?.refuse?.())).code, 'INSUFFICIENT_SCOPE');
  });
  it('400 VALIDATION_ERROR for ids that are no UUIDs, before the policy engine is asked', async () => {
    const { run, permissions } = createFixture();
    const entry = entryWith(policy('agents:update' as never, () => ({}) as never));
    const params = { agentId: 'x', other: '00000000-0000-4000-8000-000000000000' };
    const refused = await errorOf(() => run(entry, identity(), requestWith({ params })));
    assert.equal(refused.code, 'VALIDATION_ERROR');
    assert.match(JSON.stringify(refused.details), /agentId.*must be a UUID/);
    assert.doesNotMatch(JSON.stringify(refused.details), /other/);
    assert.deepEqual(permissions, []);
  });
  it('counts in the window of the route last', async () => {
    const { run, windows } = createFixture();
    const limit = { perMinute: 3, per: 'caller' } as const;
    await errorOf(() => run(entryWith(scope('agents:write'), { limit })));
    await run(entryWith(bearer()));
    assert.deepEqual(windows, []);
    await run(entryWith(bearer(), { limit }));
    assert.equal(windows.length, 1);
  });
});

describe('requests of the console', () => {
  it('reach the routes of the API, and are known by their session', () => {
    const own = { url: '/console/api/v1/agents?limit=1' } as IncomingMessage;
    const api = { url: '/api/v1/agents' } as IncomingMessage;
    assert.equal(rewriteUrl(own), '/api/v1/agents?limit=1');
    assert.equal(rewriteUrl(api), '/api/v1/agents');
    assert.equal(rewriteUrl({} as IncomingMessage), '/');
    const isSession = (raw: IncomingMessage, entry?: RouteEntry) =>
      isSessionRequest({ raw } as FastifyRequest, entry);
    assert.equal(isSession(own), true);
    assert.equal(isSession(api), false);
    assert.equal(isSession(api, entryWith(bearer())), false);
    assert.equal(isSession(api, entryWith({ kind: 'session' })), true);
  });

  for (const [site, mode, destination, expected] of [
    [undefined, undefined, undefined, false],
    ['same-origin', 'no-cors', 'image', false],
    ['none', 'navigate', 'document', false],
    ['cross-site', 'no-cors', 'image', true],
    ['cross-site', 'navigate', 'document', false],
    ['cross-site', 'navigate', undefined, false],
    ['cross-site', 'navigate', 'iframe', true],
    ['same-site', 'no-cors', 'document', true],
  ] as const) {
    it(`${site} ${mode} ${destination} ${expected ? 'is embedded by' : 'is not embedded by'} another site`, () => {
      const headers = { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': destination };
      assert.equal(isForeignSubresource({ headers } as unknown as FastifyRequest), expected);
    });
  }

  function createFixture(found: Identity | undefined = identity()) {
    const steps: string[] = [];
    const { reply, headers } = createFakes();
    const step = (name: string) => async () => void steps.push(name);
    const deps: SessionDeps = {
      authenticateSession: async (cookies, { isUse }) => {
        steps.push(`session ${cookies} ${isUse}`);
        return found;
      },
      explainNoSession: (cookies) => ({ message: `no session: ${cookies}` }),
      origin: 'https://id.test',
    };
    const authorize = createAuthorizeSession(
      deps,
      {
        ...createFakes().counting,
        countForeign: step('countForeign'),
        countInConsole: step('countInConsole'),
        countInOwnWindow: step('countInOwnWindow'),
      },
      step('admit'),
    );
    const context = contextFrom();
    const run = (request: object, entry?: RouteEntry) =>
      authorize(requestWith({ method: 'GET', ...request }), reply, context, entry);
    return { run, steps, headers, context };
  }
  const cookie = 'session=1';
  const own = { 'sec-fetch-site': 'same-origin', 'x-countersign-console': '1' };

  it('403 FORBIDDEN from another origin, counted apart', async () => {
    const { run, steps, headers } = createFixture();
    for (const site of ['cross-site', 'same-site'])
      assert.equal(
        (await errorOf(() => run({ headers: { cookie, 'sec-fetch-site': site } }))).code,
        'FORBIDDEN',
      );
    assert.deepEqual(steps, ['countForeign', 'countForeign']);
    assert.equal(headers['cross-origin-resource-policy'], 'same-origin');
  });
  it('403 FORBIDDEN for a change that does not prove its origin', async () => {
    const { run } = createFixture();
    for (const headers of [
      {},
      { 'sec-fetch-site': 'same-origin' },
      { 'x-countersign-console': '1' },
      { 'x-countersign-console': '1', origin: 'https://other.test' },
      { 'x-countersign-console': '1', 'sec-fetch-site': 'none' },
      { ...own, 'x-countersign-console': '0' },
    ]) {
      const refused = await errorOf(() => run({ method: 'POST', headers: { cookie, ...headers } }));
      assert.equal(refused.code, 'FORBIDDEN', JSON.stringify(headers));
    }
    const entry = entryWith(bearer());
    await run({ method: 'POST', headers: { cookie, ...own } }, entry);
    const byOrigin = { 'x-countersign-console': '1', origin: 'https://id.test' };
    await run({ method: 'POST', headers: { cookie, ...byOrigin } }, entry);
    for (const method of ['GET', 'HEAD']) await run({ method, headers: { cookie } }, entry);
  });
  it('401 UNAUTHORIZED without a session, unless the route lets one begin', async () => {
    const { run, steps } = createFixture();
    const refused = await errorOf(() => run({ headers: {} }, entryWith(bearer())));
    assert.equal(refused.code, 'UNAUTHORIZED');
    assert.equal(refused.message, 'no session: undefined');
    assert.equal(refused.headers['www-authenticate'], 'Cookie realm="countersign console"');
    assert.equal(
      (await errorOf(() => run({ headers: {} }, entryWith({ kind: 'session' })))).code,
      'UNAUTHORIZED',
    );
    assert.equal((await errorOf(() => run({ headers: {} }))).code, 'UNAUTHORIZED');
    steps.length = 0;
    await run({ headers: {} }, entryWith({ kind: 'session', optional: true }));
    assert.deepEqual(steps, ['countInConsole', 'countInOwnWindow']);
  });
  it('404 ROUTE_NOT_FOUND for routes with a proof of their own', async () => {
    const { run } = createFixture();
    for (const access of [{ kind: 'client' }, { kind: 'secret', secret: 's' }] as const)
      assert.equal(
        (await errorOf(() => run({ headers: { cookie } }, entryWith(access)))).code,
        'ROUTE_NOT_FOUND',
      );
  });
  it('with a session are admitted as with a token; an open route needs no more', async () => {
    const { run, steps, context } = createFixture();
    await run({ headers: { cookie } }, entryWith(bearer()));
    assert.deepEqual(steps.splice(0), ['session session=1 true', 'countInConsole', 'admit']);
    assert.equal(context.caller, undefined);
    await run({ headers: { cookie } }, entryWith(bearer(), { limit: 'afterVerification' }));
    assert.deepEqual(steps.splice(0), ['session session=1 true', 'admit']);
    for (const entry of [entryWith(open()), undefined]) {
      delete context.caller;
      await run({ headers: { cookie } }, entry);
      assert.deepEqual(steps.splice(0), ['session session=1 true', 'countInConsole', 'countInOwnWindow']);
      assert.equal(callerIn(context), 'agent-1');
    }
  });
});
