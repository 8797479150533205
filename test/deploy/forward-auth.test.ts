/** Each proxy of deploy/proxies/forward-auth/ as a real process before an API that checks nothing: docs/guides/forward-auth.md. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request as httpsRequest } from 'node:https';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { listen } from '../support/clients/listening.ts';
import {
  forwardAuthProxies,
  reserveForwardAuthPorts,
  type SeenRequest,
  startBlindApi,
  startTlsFront,
} from '../support/deploy/forward-auth.ts';
import { certificate, type ProxyKind, startProxy } from '../support/deploy/proxies.ts';
import { findTool, toolIsNeeded } from '../support/deploy/tools.ts';
import { skipWithout } from '../support/harness.ts';
import { clientForm, createProver, hashOfToken } from '../support/scenarios/dpop.ts';
import { createGrants } from '../support/scenarios/resources/grants.ts';

const ca = readFileSync(certificate, 'utf8');

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Sends the path as it is written, from the second loopback address. */
async function send(
  port: number,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body = '',
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const sent = httpsRequest(
    {
      host: 'localhost',
      port,
      method,
      path,
      headers,
      ca,
      agent: false,
      localAddress: '127.0.0.2',
      family: 4,
    },
    async (response) =>
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: await text(response),
      }),
  );
  sent.on('error', reject).end(body);
  return promise;
}

const challengeOf = ({ headers }: Answer): string => String(headers['www-authenticate']);

async function start(proxy: ProxyKind, path: string) {
  const ports = await reserveForwardAuthPorts();
  const t = await listen({ TRUST_PROXY: '127.0.0.1' });
  const front = await startTlsFront(ports.nodes[0], Number(new URL(t.issuer).port));
  const api = await startBlindApi(ports.nodes[1]);
  const { register, grant } = createGrants(t);
  const resource = await register({
    identifier: `https://localhost:${ports.https}`,
    scopes: ['orders:read', 'orders:write'],
  });
  const agent = await t.agent({ allowedScopes: ['agents:read'] });
  await grant(agent.agentId, resource, ['orders:read', 'orders:write']);
  const form = { ...clientForm(agent), resource: resource.identifier };
  const tokenWith = async (scope: string, headers: Record<string, string> = {}): Promise<string> => {
    const { json, text: answer } = await t.askToken({ ...form, scope }, headers);
    assert.ok(json.access_token, answer);
    return json.access_token;
  };
  await startProxy(proxy, path, ports);
  return { t, front, api, agent, origin: resource.identifier, port: ports.https, tokenWith };
}

for (const proxy of forwardAuthProxies) {
  describe(`${proxy.name} with deploy/proxies/${proxy.file}`, () => {
    it('asks about each request', async (context) => {
      const path = findTool(proxy.name);
      if (!path) return skipWithout(context, toolIsNeeded(proxy.name));
      const site = await start(proxy, path);
      await checkBearer(context, proxy, site);
      await checkPaths(context, proxy, site);
      await checkProofs(context, site);
      await checkEnds(context, site);
    });
  });
}

type Site = Awaited<ReturnType<typeof start>>;

async function checkBearer(context: TestContext, proxy: ProxyKind, site: Site): Promise<void> {
  const { t, api, agent, port, tokenWith } = site;
  const token = await tokenWith('orders:read orders:write');
  const reading = await tokenWith('orders:read');
  const authorization = `Bearer ${token}`;

  await context.test('200: the API gets the request, the identity, and no token', async () => {
    const answer = await send(port, 'POST', '/orders?all=1&scope=x&resource=y', { authorization }, 'a body');
    assert.equal(answer.status, 200, answer.body);
    const { method, url, headers, body } = JSON.parse(answer.body) as SeenRequest;
    assert.deepEqual([method, url, body], ['POST', '/orders?all=1&scope=x&resource=y', 'a body']);
    const identity = {
      'x-countersign-agent': agent.agentId,
      'x-countersign-subject': agent.agentId,
      'x-countersign-subject-type': 'agent',
      'x-countersign-organization': t.operator.organizationId,
      'x-countersign-scopes': 'orders:read orders:write',
    };
    for (const [name, value] of Object.entries(identity)) assert.equal(headers[name], value, name);
    for (const name of ['authorization', 'dpop']) assert.equal(headers[name], undefined, name);
  });

  await context.test('200 with the identity of the token, not the one that the client sends', async () => {
    const names = ['Agent', 'Subject', 'Subject-Type', 'Organization', 'Scopes'];
    const forged = Object.fromEntries(names.map((name) => [`X-Countersign-${name}`, 'forged']));
    const answer = await send(port, 'GET', '/orders', { authorization, ...forged });
    assert.equal(answer.status, 200);
    assert.doesNotMatch(answer.body, /forged/);
    assert.match(answer.body, new RegExp(agent.agentId));
    const odd = await send(port, 'GET', '/orders', { authorization, X_Countersign_Agent: 'forged' });
    assert.doesNotMatch(odd.body, /forged/);
  });

  await context.test(
    '401 with a challenge, 403 with the scope that is needed; the API sees nothing',
    async () => {
      const { length } = api.seen;
      const anonymous = await send(port, 'GET', '/orders');
      assert.deepEqual(
        [anonymous.status, challengeOf(anonymous)],
        [401, 'Bearer realm="countersign", scope="orders:read"'],
      );
      const foreign = await send(port, 'GET', '/orders', { authorization: `Bearer ${await t.token()}` });
      assert.equal(foreign.status, 401);
      assert.match(challengeOf(foreign), /^Bearer .*error="invalid_token".*another audience/);
      for (const method of ['POST', 'DELETE', 'PROPFIND']) {
        const narrow = await send(port, method, '/orders', { authorization: `Bearer ${reading}` });
        if (method === 'PROPFIND') assert.notEqual(narrow.status, 200);
        else {
          assert.equal(narrow.status, 403, narrow.body);
          assert.match(challengeOf(narrow), /^Bearer .*error="insufficient_scope".*scope="orders:write"$/);
        }
      }
      assert.equal(api.seen.length, length);
      assert.equal((await send(port, 'GET', '/orders', { authorization: `Bearer ${reading}` })).status, 200);
    },
  );

  await context.test('the audit log has the address of the client', async () => {
    if (!proxy.passesLoopbackClients) return;
    const forged = { 'x-forwarded-for': '203.0.113.9', authorization: 'Bearer x.y.z' };
    assert.equal((await send(port, 'GET', '/orders', forged)).status, 401);
    const [event] = await t.sql<{ address: string }>(
      `select ip_address as address from audit_events where action = 'authentication.refused'
       order by event_id desc limit 1`,
    );
    assert.equal(event?.address, '127.0.0.2');
  });
}

async function checkPaths(
  context: TestContext,
  proxy: ProxyKind,
  { api, port, tokenWith }: Site,
): Promise<void> {
  await context.test('400 for a path that proxy and API may read in different ways', async () => {
    const authorization = `Bearer ${await tokenWith('orders:read')}`;
    const { length } = api.seen;
    const encoded = ['/public%2f..%2fadmin', '/admin%5C..', '/orders%2F'];
    // Envoy normalizes these, and the API gets the normal form.
    const normalized = ['//orders', '/public/../admin', '/a/%2e%2e/admin', '/./orders'];
    for (const path of proxy.name === 'envoy' ? encoded : [...encoded, ...normalized])
      assert.equal((await send(port, 'GET', path, { authorization })).status, 400, path);
    assert.equal(api.seen.length, length);
    const query = await send(port, 'GET', '/orders?next=%2F..%2f//x', { authorization });
    assert.equal(query.status, 200);
  });
}

async function checkProofs(context: TestContext, { t, origin, port, tokenWith }: Site): Promise<void> {
  const prover = await createProver(t);
  const proofFor = (htu: string, htm: string, ath?: string) =>
    prover.proof({ claims: { htm, htu, ...(ath !== undefined && { ath }) } });
  const token = await tokenWith('orders:read orders:write', {
    dpop: await proofFor(`${t.issuer}/api/v1/token`, 'POST'),
  });
  const bound = async (path = '/orders/5', htm = 'GET') => ({
    authorization: `DPoP ${token}`,
    dpop: await proofFor(origin + path, htm, hashOfToken(token)),
  });

  await context.test('200 for a bound token with a proof, once', async () => {
    for (const [method, path] of [
      ['GET', '/orders/5?all=1#x'.split('#')[0]],
      ['POST', '/a%20b,c'],
    ] as const) {
      const headers = await bound(String(path).split('?')[0], method);
      const answer = await send(port, method, String(path), headers);
      assert.equal(answer.status, 200, answer.body + challengeOf(answer));
      assert.ok(!('dpop' in JSON.parse(answer.body).headers));
      const again = await send(port, method, String(path), headers);
      assert.equal(again.status, 401);
      assert.match(challengeOf(again), /^DPoP .*error="invalid_dpop_proof".*used before/);
      assert.ok(again.headers['dpop-nonce']);
    }
  });

  await context.test('401 for a proof of another request, whatever address the client claims', async () => {
    const url = `${origin}/orders/5`;
    const claims = {
      'x-original-url': url,
      'x-original-method': 'GET',
      'x-forwarded-uri': '/orders/5',
      'x-forwarded-method': 'GET',
      'x-forwarded-host': new URL(origin).host,
      'x-forwarded-proto': 'https',
    };
    for (const more of [{}, claims]) {
      assert.equal((await send(port, 'GET', '/orders/6', { ...(await bound()), ...more })).status, 401);
      assert.equal((await send(port, 'POST', '/orders/5', { ...(await bound()), ...more })).status, 401);
    }
    const stolen = await send(port, 'GET', '/orders/5', { authorization: `Bearer ${token}` });
    assert.match(challengeOf(stolen), /bound to a key/);
    // They do no harm to the client's own request either.
    const odd = { ...claims, 'x-original-url': 'https://other.example', 'x-forwarded-uri': '/other' };
    assert.equal((await send(port, 'GET', '/orders/5', { ...(await bound()), ...odd })).status, 200);
  });
}

async function checkEnds(context: TestContext, { t, front, api, port, tokenWith }: Site): Promise<void> {
  const token = await tokenWith('orders:read');
  const authorization = `Bearer ${token}`;
  await context.test('401 at once after the token was revoked', async () => {
    assert.equal((await send(port, 'GET', '/orders', { authorization })).status, 200);
    await t.form('/api/v1/token/revoke', { token }, await t.token());
    assert.equal((await send(port, 'GET', '/orders', { authorization })).status, 401);
  });
  await context.test('5xx while Countersign does not answer; the API sees nothing', async () => {
    const other = { authorization: `Bearer ${await tokenWith('orders:read')}` };
    const { length } = api.seen;
    front.stop();
    const answer = await send(port, 'GET', '/orders', other);
    assert.ok([502, 503].includes(answer.status), String(answer.status));
    assert.equal(api.seen.length, length);
  });
}
