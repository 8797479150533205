/** Every change and every refused authentication writes exactly one audit event; exceptions are listed with their reason. */

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { exportJWK, SignJWT } from 'jose';
import type { RouteEntry } from '../src/kernel/http/route.ts';
import { succeeding } from './matrix/all-rows.ts';
import {
  asTenantAdmin,
  changesNothing,
  type Target,
  type TestRequest,
  validTokenRequest,
  writesMore,
} from './matrix/matrix-rows.ts';
import { consoleFixture, docsFixture, startApp, startOfMinute } from './support/harness.ts';
import { createMatrixFixture, send } from './support/principals.ts';
import { giveStream } from './support/scenarios/signals.ts';

/** Over plain http, sessions of the console begin on loopback addresses only. */
const baseUrl = 'http://countersign.localhost';
const t = await startApp(
  {
    BASE_URL: baseUrl,
    MULTI_TENANT: 'true',
    UNREGISTERED_RESOURCES: 'allow',
    BILLING_ALLOW_EMBEDDED: 'true',
    WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
    AUDIT_LOG_KEY: generateKeyPairSync('ed25519')
      .privateKey.export({ type: 'pkcs8', format: 'pem' })
      .toString(),
  },
  undefined,
  { consoleFolder: consoleFixture, docsFolder: docsFixture },
);
const { makeTarget, agentIn, operatorToken } = await createMatrixFixture(t);
// The instance log has its first checkpoint and tile.
await t.app.audit.linkAll();
await t.app.instanceLog.grow();

/** An agent with a secret; the other fields of a target are not needed. */
const makeClient = () => makeTarget('clientSecret');

interface Written {
  readonly event_id: string;
  readonly action: string;
  readonly outcome: string;
  readonly agent_id: string;
  readonly ip_address: string;
  readonly user_agent: string;
}

const from = { remoteAddress: '192.0.2.77', headers: { 'user-agent': 'trail/1.0' } };

async function eventsOf<T>(work: () => Promise<T>): Promise<{ result: T; written: Written[] }> {
  // The oldest open transaction: what is written from now on has its number or a higher one.
  const [{ oldest } = assert.fail()] = await t.sql<{ oldest: string }>(
    'select pg_snapshot_xmin(pg_current_snapshot())::text as oldest',
  );
  const recent = () =>
    t.sql<Written>(
      `select event_id, action, outcome, agent_id, ip_address, user_agent from audit_events
       where appended_in >= $1::xid8 order by 1`,
      [oldest],
    );
  const before = new Set((await recent()).map(({ event_id }) => event_id));
  const result = await work();
  return { result, written: (await recent()).filter(({ event_id }) => !before.has(event_id)) };
}

/** These answer 404 here, with the reason. src/features/audit/archive/service.test.ts reads a file. */
const absent: Readonly<Record<string, string>> = { getAuditArchive: 'no day of the log is over' };

/** For requests that change nothing; the others get a target of their own. */
const readOnly = await makeTarget();

/** The difference between expected and written events of a successful call; undefined when there is none. */
async function problemOf({ id, method, path }: RouteEntry): Promise<string | undefined> {
  const request = succeeding(id);
  if (!request) return `${method} ${path} (${id}) has no row in test/matrix/matrix-rows.ts`;
  const target = method === 'GET' ? readOnly : await makeTarget();
  if (path.includes('/ssf/')) await giveStream(t, target.streamId, t.operator.agentId);
  const token = asTenantAdmin.has(id)
    ? (await agentIn(target.organizationId, [], 'admin')).token
    : operatorToken;
  const { result, written } = await eventsOf(() => send(t, request(target), token, from));
  const said = (what: string) => `${method} ${path} (${id}) ${what}`;
  if (result.status >= 400 && !(result.status === 404 && id in absent))
    return said(`answered ${result.status} ${result.text}: give it a request that succeeds`);

  if (method === 'GET' || id in changesNothing)
    return written.length === 0 ? undefined : said(`changes nothing, but left ${written.length} events`);
  if (written.length !== 1 && !(id in writesMore && written.length > 1))
    return said(`left ${written.length} audit events instead of one`);
  for (const event of written) {
    if (event.outcome !== 'success') return said(`succeeded, and recorded a ${event.outcome}`);
    if (event.ip_address !== from.remoteAddress) return said(`recorded the address "${event.ip_address}"`);
    if (event.user_agent !== from.headers['user-agent'])
      return said(`recorded the agent "${event.user_agent}"`);
  }
  return undefined;
}

describe('a successful call', () => {
  for (const entry of t.app.routes) {
    const expected =
      entry.method === 'GET' || entry.id in changesNothing
        ? 'none'
        : entry.id in writesMore
          ? 'several'
          : 'one';
    it(`${entry.method} ${entry.path} writes ${expected}`, async () =>
      assert.equal(await problemOf(entry), undefined));
  }
  it('every exception names an existing route', () => {
    const mutating = t.app.routes.filter(({ method }) => method !== 'GET').map(({ id }) => id);
    assert.deepEqual(
      Object.keys({ ...changesNothing, ...writesMore }).filter((id) => !mutating.includes(id)),
      [],
    );
  });
});

describe('a refused authentication at /token', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const assertion = (agentId: string, key = privateKey) =>
    new SignJWT({ jti: crypto.randomUUID() })
      .setProtectedHeader({ alg: 'ES256' })
      .setIssuer(agentId)
      .setSubject(agentId)
      .setAudience(baseUrl)
      .setExpirationTime(new Date(t.clock.now() + 60_000))
      .sign(key);
  const asserted = (client_assertion: string) => ({
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion,
  });
  const operate = async (method: 'PUT' | 'PATCH' | 'DELETE' | 'POST', url: string, payload?: object) => {
    const answer = await t.call(method, `/api/v1${url}`, {
      token: operatorToken,
      ...(payload && { payload }),
    });
    assert.ok(answer.status < 300, answer.text);
    return answer.text === '' ? {} : answer.json;
  };
  const secretOf = (target: Target) => validTokenRequest(target).form ?? {};
  const basic = (pair: string) => ({ authorization: `Basic ${btoa(pair)}` });

  type Case = [
    string,
    number,
    (
      target: Target,
    ) => Promise<{ form: Record<string, string>; headers?: Record<string, string>; agentId?: string }>,
  ];
  const noAgentId = '00000000-0000-0000-0000-000000000000';
  const unknownId = crypto.randomUUID();
  const cases: Case[] = [
    ['a wrong secret', 401, async (target) => ({ form: { ...secretOf(target), client_secret: 'cs_wrong' } })],
    ['an empty secret', 401, async (target) => ({ form: { ...secretOf(target), client_secret: '' } })],
    [
      'an unknown client',
      401,
      async (target) => ({ form: { ...secretOf(target), client_id: unknownId }, agentId: unknownId }),
    ],
    [
      'a client id that is no UUID',
      401,
      async (target) => ({ form: { ...secretOf(target), client_id: 'x' }, agentId: noAgentId }),
    ],
    [
      'a wrong secret by HTTP Basic',
      401,
      async ({ agentId }) => ({
        form: { grant_type: 'client_credentials' },
        headers: basic(`${agentId}:cs_wrong`),
      }),
    ],
    [
      'HTTP Basic that cannot be read',
      401,
      async () => ({ form: { grant_type: 'client_credentials' }, headers: basic('x'), agentId: noAgentId }),
    ],
    [
      'two proofs at once',
      401,
      async (target) => ({
        form: secretOf(target),
        headers: basic(`${target.agentId}:${target.clientSecret}`),
      }),
    ],
    [
      "another agent's secret",
      401,
      async (target) => ({
        form: { ...secretOf(target), client_secret: (await makeClient()).clientSecret },
      }),
    ],
    [
      'a revoked credential',
      401,
      async (target) => {
        await operate('DELETE', `/agents/${target.agentId}/credentials/${target.credentialId}`);
        return { form: secretOf(target) };
      },
    ],
    [
      'a rotated secret',
      401,
      async (target) => {
        await operate('POST', `/agents/${target.agentId}/credentials/${target.credentialId}/rotate`);
        return { form: secretOf(target) };
      },
    ],
    [
      'an expired credential',
      401,
      async (target) => {
        const expiresAt = new Date(t.clock.now() + 60_000).toISOString();
        const { clientSecret } = await operate('POST', `/agents/${target.agentId}/credentials`, {
          expiresAt,
        });
        t.clock.advance(61_000);
        return { form: { ...secretOf(target), client_secret: clientSecret } };
      },
    ],
    [
      'a suspended agent',
      403,
      async (target) => {
        await operate('PATCH', `/agents/${target.agentId}`, { status: 'suspended' });
        return { form: secretOf(target) };
      },
    ],
    [
      'a decommissioned agent',
      401,
      async (target) => {
        await operate('DELETE', `/agents/${target.agentId}`);
        return { form: secretOf(target) };
      },
    ],
    [
      'a suspended organization',
      403,
      async (target) => {
        await operate('PATCH', `/organizations/${target.organizationId}`, { status: 'suspended' });
        return { form: secretOf(target) };
      },
    ],
    [
      'a deleted organization',
      403,
      async (target) => {
        await operate('DELETE', `/organizations/${target.organizationId}`);
        return { form: secretOf(target) };
      },
    ],
    [
      'a scope that the agent may not hold',
      400,
      async (target) => ({ form: { ...secretOf(target), scope: 'admin:orgs' } }),
    ],
    [
      'an assertion by a key that is not registered',
      401,
      async ({ agentId }) => ({ form: asserted(await assertion(agentId)) }),
    ],
    ['an assertion that is not a JWT', 401, async () => ({ form: asserted('x.y.z'), agentId: noAgentId })],
    [
      'an assertion of another type',
      401,
      async ({ agentId }) => ({
        form: {
          ...asserted(await assertion(agentId)),
          client_id: agentId,
          client_assertion_type: 'urn:example:other',
        },
      }),
    ],
    [
      'an assertion that was used before',
      401,
      async ({ agentId }) => {
        await operate('PUT', `/agents/${agentId}/keys`, { keys: [await exportJWK(publicKey)] });
        const form = asserted(await assertion(agentId));
        assert.equal((await t.askToken(form)).status, 200);
        return { form };
      },
    ],
  ];

  for (const [what, status, prepare] of cases) {
    it(`${status} for ${what}: one failure event with address and user agent`, async () => {
      const target = await makeClient();
      const { form, headers, agentId = target.agentId } = await prepare(target);
      const request: TestRequest = { method: 'POST', url: '/api/v1/token', form };
      const sentFrom = { ...from, headers: { ...from.headers, ...headers } };
      const { result, written } = await eventsOf(() => send(t, request, undefined, sentFrom));
      assert.equal(result.status, status, result.text);
      assert.deepEqual(
        written.map(({ event_id: _, ...event }) => event),
        [
          {
            action: 'token.refused',
            outcome: 'failure',
            agent_id: agentId,
            ip_address: '192.0.2.77',
            user_agent: 'trail/1.0',
          },
        ],
      );
    });
  }

  it('concurrent refusals in shared transactions write one event each', async () => {
    const targets = await Promise.all(Array.from({ length: 30 }, makeClient));
    const { result, written } = await eventsOf(() =>
      Promise.all(
        targets.map((target, index) =>
          t.askToken({ ...secretOf(target), ...(index % 2 && { client_secret: 'cs_wrong' }) }),
        ),
      ),
    );
    assert.deepEqual(
      result.map(({ status }) => status),
      targets.map((_, index) => (index % 2 ? 401 : 200)),
    );
    const outcomes = new Map(written.map(({ agent_id, outcome }) => [agent_id, outcome]));
    assert.equal(written.length, 30);
    assert.deepEqual(
      targets.map(({ agentId }) => outcomes.get(agentId)),
      targets.map((_, index) => (index % 2 ? 'failure' : 'success')),
    );
  });
});

describe('a refused access token', () => {
  const noAgentId = '00000000-0000-0000-0000-000000000000';
  const failure = { outcome: 'failure', ip_address: '192.0.2.77', user_agent: 'trail/1.0' };
  const guarded = t.app.routes.filter(
    ({ access }) => !['open', 'client', 'secret', 'session'].includes(access.kind),
  );

  it('writes exactly one event at every route that requires a token; a missing token writes none', async () => {
    const target = await makeTarget();
    for (const [index, { id }] of guarded.entries()) {
      // Two per route: recording of unauthenticated refusals is throttled per minute.
      if (index % 25 === 0) startOfMinute(t.clock);
      const request = succeeding(id)?.(target);
      assert.ok(request, id);
      const shown = await eventsOf(() => send(t, request, 'x.y.z', from));
      assert.equal(shown.result.status, 401, id);
      assert.deepEqual(
        shown.written.map(({ event_id: _, ...event }) => event),
        [{ ...failure, action: 'authentication.refused', agent_id: noAgentId }],
        id,
      );
      const blank = await eventsOf(() => send(t, request, 'x y', from));
      assert.deepEqual([blank.result.status, blank.written.length], [401, 1], id);
      const silent = await eventsOf(() => send(t, request, undefined, from));
      assert.deepEqual([silent.result.status, silent.written], [401, []], id);
    }
  });

  const ask = async (target: Target, more: object = {}) =>
    (await t.askToken({ ...validTokenRequest(target).form, ...more })).json.access_token as string;
  const operate = async (method: 'PATCH' | 'DELETE', url: string, payload?: object) => {
    const answer = await t.call(method, `/api/v1${url}`, {
      token: operatorToken,
      ...(payload && { payload }),
    });
    assert.ok(answer.status < 300, answer.text);
  };
  const cases: [string, string, number, (target: Target) => Promise<string>][] = [
    [
      'that was revoked',
      'revoked, or of an agent that is not active',
      401,
      async (target) => {
        const token = await ask(target);
        await t.form('/api/v1/token/revoke', { token }, token);
        return token;
      },
    ],
    [
      'of a suspended agent',
      'revoked, or of an agent that is not active',
      401,
      async (target) => {
        const token = await ask(target);
        await operate('PATCH', `/agents/${target.agentId}`, { status: 'suspended' });
        return token;
      },
    ],
    [
      'for another audience',
      'for another audience',
      401,
      (target) => ask(target, { resource: 'https://elsewhere.test' }),
    ],
    [
      'of a suspended organization',
      'organization suspended',
      403,
      async (target) => {
        const token = await ask(target);
        await operate('PATCH', `/organizations/${target.organizationId}`, { status: 'suspended' });
        return token;
      },
    ],
    // Last: the operator's own token expires too.
    [
      'that has expired',
      'expired',
      401,
      async (target) => {
        const token = await ask(target);
        t.clock.advance(3_601_000);
        return token;
      },
    ],
  ];
  for (const [what, reason, status, prepare] of cases)
    it(`${status} for a token ${what}: the event names the agent and the reason`, async () => {
      const target = await makeClient();
      const token = await prepare(target);
      const request: TestRequest = { method: 'GET', url: '/api/v1/agents' };
      const { result, written } = await eventsOf(() => send(t, request, token, from));
      assert.equal(result.status, status, result.text);
      const [{ event_id, ...event } = assert.fail('nothing was recorded'), ...others] = written;
      assert.deepEqual(event, { ...failure, action: 'authentication.refused', agent_id: target.agentId });
      assert.deepEqual(others, []);
      const [row] = await t.sql<{ organization_id: string; metadata: Record<string, unknown> }>(
        "select organization_id, metadata::jsonb - 'requestId' as metadata from audit_events where event_id = $1",
        [event_id],
      );
      assert.deepEqual(row, {
        organization_id: target.organizationId,
        metadata: { reason, operation: 'listAgents' },
      });
    });

  it('401 for a wrong METRICS_TOKEN: one event without an agent', async () => {
    const other = await startApp({ METRICS_TOKEN: 'm'.repeat(32) });
    const { status } = await other.call('GET', '/metrics', { token: 'n'.repeat(32) });
    const written = await other.sql(
      "select agent_id, metadata::jsonb - 'requestId' as metadata from audit_events where action = 'authentication.refused'",
    );
    assert.deepEqual(
      [status, written],
      [401, [{ agent_id: noAgentId, metadata: { reason: 'wrong secret', operation: 'metrics' } }]],
    );
  });
});
