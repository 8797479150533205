/** Each proxy of deploy/proxies/ as a real process before two serving nodes: the rules of docs/operations/behind-a-proxy.md. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request as plainRequest } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { text } from 'node:stream/consumers';
import { after, describe, it, type TestContext } from 'node:test';
import { connect as connectTls, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { Agent, fetch as fetchWith } from 'undici';
import { openStream } from '../support/clients/event-stream.ts';
import { certificate, type Ports, proxies, reservePorts, startProxy } from '../support/deploy/proxies.ts';
import { findTool, toolIsNeeded } from '../support/deploy/tools.ts';
import { createDatabase, environment, newAgent, skipWithout } from '../support/harness.ts';
import {
  askToken,
  authorize,
  type Client,
  makeOperator,
  type Program,
  startCountersign,
  startRedis,
  until,
  untilHealthy,
} from '../support/programs.ts';
import { fromPage, sessionUrl } from '../support/scenarios/console.ts';
import { startTraffic } from '../support/traffic.ts';

const ca = readFileSync(certificate, 'utf8');
setDefaultCACertificates([...getCACertificates('default'), ca]);

interface Site {
  readonly url: string;
  readonly ports: Ports;
  readonly operator: Client;
  readonly nodes: readonly [Program, Program];
  /** Starts a node again after the test has stopped it. */
  restart(node: 0 | 1, delaySeconds?: string): Promise<Program>;
}

/** How often a node stops under POST requests. */
const rounds = 2;

/** Longer than a few checks of the proxies, also on a busy machine. */
const longDelay = '10';

async function startNodes(t: TestContext): Promise<Site | undefined> {
  const redis = await startRedis();
  if (!redis) return void skipWithout(t, 'redis-server');
  const ports = await reservePorts();
  const url = `https://localhost:${ports.https}`;
  const env = environment(await createDatabase(), {
    BASE_URL: url,
    REDIS_URL: redis.url,
    HOST: '127.0.0.1',
    TRUST_PROXY: '127.0.0.1',
    METRICS_TOKEN: 'scrape-me',
  });
  const operator = await makeOperator(env);
  const start = async (node: 0 | 1, delaySeconds = longDelay) => {
    const program = startCountersign(['serve'], {
      ...env,
      PORT: String(ports.nodes[node]),
      SHUTDOWN_DELAY_SECONDS: delaySeconds,
    });
    await untilHealthy(ports.nodes[node], program);
    return program;
  };
  return { url, ports, operator, nodes: [await start(0), await start(1)], restart: start };
}

/** A client on another address than the proxy's, which the nodes trust. */
const elsewhere = new Agent({ localAddress: '127.0.0.2', connect: { ca } });

for (const proxy of proxies) {
  describe(`${proxy.name} with deploy/proxies/${proxy.file}`, () => {
    it('serves two nodes', async (t) => {
      const path = findTool(proxy.name);
      if (!path) return skipWithout(t, toolIsNeeded(proxy.name));
      const site = await startNodes(t);
      if (!site) return;
      await startProxy(proxy, path, site.ports);
      await until('the proxy answers', async () => (await fetch(`${site.url}/readyz`)).ok || undefined);
      await checkRequests(t, site, proxy.passesLoopbackClients);
      await checkNodes(t, site);
      if (!proxy.checksReadiness) await checkStopsUnderWrites(t, site);
    });
  });
}

async function checkRequests(t: TestContext, site: Site, passesLoopbackClients: boolean): Promise<void> {
  const { url, operator, ports } = site;
  const headers = await authorize(url, operator);

  await t.test('200 over HTTP/2 and HTTP/1.1; https only; no other host name', async () => {
    const session = connectHttp2(url, { ca });
    const stream = session.request({ ':path': '/.well-known/jwks.json' });
    const [answer] = await once(stream, 'response');
    assert.equal(answer[':status'], 200);
    assert.ok(JSON.parse(await text(stream)).keys.length > 0);
    session.close();
    assert.equal((await fetch(`${url}/.well-known/jwks.json`)).status, 200);

    const { status, location } = await askPlain(ports.http, '/docs?page=1');
    assert.ok([301, 308].includes(status), String(status));
    // Caddy names no port: it takes its https port for the public one.
    assert.ok([`${url}/docs?page=1`, 'https://localhost/docs?page=1'].includes(location), location);

    await assert.rejects(connectAs(ports.https, 'other.example'));
    await connectAs(ports.https, 'localhost');
  });

  await t.test('the id of a request stays; HSTS and the other headers of the server arrive', async () => {
    const answer = await fetch(`${url}/api/v1/agents`, {
      headers: { ...headers, 'x-request-id': 'chosen-by-client-1' },
    });
    assert.equal(answer.headers.get('x-request-id'), 'chosen-by-client-1');
    assert.match(String(answer.headers.get('strict-transport-security')), /max-age=\d+/);
    const other = await fetch(`${url}/health`);
    assert.match(String(other.headers.get('x-request-id')), /^[\w-]{36}$/);
  });

  await t.test(
    'the audit log has the address of the connection, not the one that a client claims',
    async () => {
      const answer = await fetchWith(`${url}/api/v1/token`, {
        method: 'POST',
        dispatcher: elsewhere,
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          'x-request-id': 'forged-address-1',
          'x-forwarded-for': '203.0.113.9, 198.51.100.7',
          'x-real-ip': '203.0.113.9',
          forwarded: 'for=203.0.113.9;host=evil.example;proto=http',
          'x-forwarded-host': 'evil.example',
          'x-forwarded-proto': 'http',
        },
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          client_id: operator.clientId,
          client_secret: operator.clientSecret,
        }).toString(),
      });
      assert.equal(answer.status, 200);
      const { data } = (await (
        await fetch(`${url}/api/v1/audit?action=token.issued&limit=100`, { headers })
      ).json()) as { data: { ipAddress: string }[] };
      const addresses = new Set(data.map(({ ipAddress }) => ipAddress));
      if (passesLoopbackClients) assert.deepEqual(addresses, new Set(['127.0.0.1', '127.0.0.2']));
      else for (const forged of ['203.0.113.9', '198.51.100.7']) assert.ok(!addresses.has(forged), forged);
    },
  );

  await t.test('404 for /metrics in every spelling, also with its token', async () => {
    const spellings = [
      '/metrics',
      '/metrics?a=1',
      '/%6Detrics',
      '/metrics/',
      '//metrics',
      '/x/../metrics',
      '/./metrics',
    ];
    for (const path of spellings) {
      const session = connectHttp2(url, { ca });
      // `fetch` would normalize the path.
      const stream = session.request({ ':path': path, authorization: 'Bearer scrape-me' });
      const [answer] = await once(stream, 'response');
      const body = await text(stream);
      session.close();
      assert.ok([400, 404].includes(Number(answer[':status'])), `${path}: ${answer[':status']}`);
      assert.doesNotMatch(body, /service_/, path);
    }
  });

  await t.test('413 of the server for a body that is too large for it; 200 kB pass', async () => {
    const send = async (bytes: number) => {
      const answer = await fetch(`${url}/api/v1/agents`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ ...newAgent(), owner: 'x'.repeat(bytes) }),
      });
      const { code } = (await answer.json()) as { code: string };
      return `${answer.status} ${code}`;
    };
    assert.equal(await send(300_000), '413 PAYLOAD_TOO_LARGE');
    assert.equal(await send(200_000), '400 VALIDATION_ERROR');
  });

  await t.test('a large answer is complete for a client that reads slowly', async () => {
    const path = '/openapi.json';
    const expected = await (await fetch(`http://127.0.0.1:${ports.nodes[0]}${path}`)).text();
    assert.ok(expected.length > 400_000, `${expected.length} bytes`);
    const { body } = await fetch(`${url}${path}`);
    assert.ok(body);
    let received = '';
    const decoder = new TextDecoder();
    for await (const chunk of body) {
      received += decoder.decode(chunk, { stream: true });
      await new Promise((resume) => setTimeout(resume, 5));
    }
    assert.equal(received, expected);
  });

  await t.test('an event arrives while the stream is open', async () => {
    const stream = await openStream(url, headers.authorization.replace('Bearer ', ''));
    const created = await fetch(`${url}/api/v1/agents`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(newAgent()),
    });
    const { agentId } = (await created.json()) as { agentId: string };
    await stream.message(
      'the event',
      ({ event, data }) => event === 'agent.created' && data?.includes(agentId) === true,
    );
    stream.close();
  });

  await t.test(
    '204 with a Secure cookie when a person signs in to the console; 403 from another origin',
    async () => {
      const signIn = (origin: Record<string, string>) =>
        fetch(`${url}${sessionUrl}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-countersign-console': '1', ...origin },
          body: JSON.stringify({ clientId: operator.clientId, clientSecret: operator.clientSecret }),
        });
      assert.equal((await signIn({ origin: 'https://evil.example' })).status, 403);
      for (const origin of [{ origin: url }, fromPage]) {
        const answer = await signIn(origin);
        assert.equal(answer.status, 204);
        const [cookie = ''] = answer.headers.getSetCookie();
        assert.match(cookie, /^__Host-countersign=[\w-]{43}; .*; Secure$/);
        const session = await fetch(`${url}${sessionUrl}`, {
          headers: { cookie: cookie.split(';', 1)[0] ?? '' },
        });
        assert.equal(session.status, 200);
      }
    },
  );
}

async function checkNodes(t: TestContext, site: Site): Promise<void> {
  const { url, operator, nodes } = site;
  const headers = await authorize(url, operator);
  const read = () => fetch(`${url}/api/v1/agents?limit=1`, { headers });
  const issue = () => askToken(url, operator);
  await t.test('no request fails when a node stops', async () => {
    const traffic = startTraffic([read, issue]);
    const answered = async (count: number) => {
      const target = traffic.responses().length + count;
      await until(`${count} answers`, async () => traffic.responses().length >= target || undefined);
    };
    await answered(20);
    nodes[0].kill('SIGTERM');
    assert.equal(await nodes[0].ended(), 0);
    await answered(20);
    assert.deepEqual(failuresOf(await traffic.stop()), []);
  });

  await t.test(
    'no read request fails when a node is killed, and a node that returns is used again',
    async () => {
      const first = await site.restart(0);
      await untilUsed(site, 0);
      const traffic = startTraffic([read]);
      await until('some answers', async () => traffic.responses().length > 20 || undefined);
      nodes[1].kill('SIGKILL');
      await nodes[1].ended();
      const target = traffic.responses().length + 50;
      await until('more answers', async () => traffic.responses().length > target || undefined);
      assert.deepEqual(failuresOf(await traffic.stop()), []);
      first.kill('SIGKILL');
    },
  );
}

const failuresOf = (responses: readonly { outcome: number | string; body: string }[]) =>
  responses.filter(({ outcome }) => outcome !== 200).map(({ outcome, body }) => `${outcome} ${body}`);

/** A proxy without readiness checks sends to a node until it refuses connections. It repeats no POST that a node may have seen. */
async function checkStopsUnderWrites(t: TestContext, site: Site): Promise<void> {
  // The connections between client and proxy are not the subject: over HTTP/2 the proxy ends one after a number of requests.
  const overHttp1 = new Agent({ allowH2: false, connect: { ca } });
  after(() => overHttp1.destroy());
  const { clientId: client_id, clientSecret: client_secret } = site.operator;
  const body = String(new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret }));
  const issue = () =>
    fetchWith(`${site.url}/api/v1/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body,
      dispatcher: overHttp1,
    }) as unknown as Promise<Response>;
  for (const delay of ['0', '2'])
    await t.test(`no POST request fails when nodes stop in turn, with a delay of ${delay} s`, async () => {
      const nodes = [await site.restart(0, delay), await site.restart(1, delay)];
      await untilUsed(site, 0);
      await untilUsed(site, 1);
      const traffic = startTraffic(Array.from({ length: 6 }, () => issue));
      for (const node of Array.from({ length: rounds }, (_, round) => (round % 2 === 0 ? 0 : 1))) {
        const target = traffic.responses().length + 100;
        await until('100 answers', async () => traffic.responses().length >= target || undefined);
        nodes[node]?.kill('SIGTERM');
        assert.equal(await nodes[node]?.ended(), 0);
        nodes[node] = await site.restart(node, delay);
        await untilUsed(site, node);
      }
      const responses = await traffic.stop();
      assert.deepEqual(failuresOf(responses), []);
      t.diagnostic(`${responses.length} requests, ${rounds} stops`);
      for (const node of nodes) node.kill('SIGKILL');
      await Promise.all(nodes.map((node) => node.ended()));
    });
}

/** Requests through the proxy reach this node. Its own counter of requests shows it. */
async function untilUsed({ url, ports }: Site, node: 0 | 1): Promise<void> {
  await until(`node ${node} is used`, async () => {
    for (let count = 0; count < 4; count += 1) await (await fetch(`${url}/.well-known/jwks.json`)).text();
    const metrics = await fetch(`http://127.0.0.1:${ports.nodes[node]}/metrics`, {
      headers: { authorization: 'Bearer scrape-me' },
    });
    return /service_http_requests_total\{[^}]*jwks[^}]*\} [1-9]/.test(await metrics.text()) || undefined;
  });
}

async function askPlain(port: number, path: string) {
  const sent = plainRequest({
    port,
    host: '127.0.0.1',
    path,
    headers: { host: 'localhost' },
    agent: false,
  }).end();
  const [answer] = await once(sent, 'response');
  answer.resume();
  return { status: Number(answer.statusCode), location: String(answer.headers.location) };
}

async function connectAs(port: number, servername: string): Promise<void> {
  const socket = connectTls({ port, host: '127.0.0.1', servername, ca, rejectUnauthorized: false });
  try {
    await Promise.race([
      once(socket, 'secureConnect'),
      once(socket, 'close').then(() => Promise.reject(new Error('closed'))),
    ]);
  } finally {
    socket.destroy();
  }
}
