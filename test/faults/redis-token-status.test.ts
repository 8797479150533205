/** Redis caches token status and agents. Losing Redis never restores a revoked token or an old agent version. */
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { createDatabase, environment, newAgent, skipWithout } from '../support/harness.ts';
import { startRelay } from '../support/peers/relay.ts';
import {
  authorize,
  type Client,
  makeOperator,
  startRedis,
  startServe,
  until,
  withRedis,
} from '../support/programs.ts';
import { type ServerInProcess, startServerInProcess } from '../support/server-in-process.ts';

interface Bearer {
  readonly authorization: string;
}

type Server = Pick<ServerInProcess, 'url' | 'log'>;

interface Node extends Server {
  statusWith(bearer: Bearer): Promise<number>;
  isActive(bearer: Bearer): Promise<boolean>;
  revoke(bearer: Bearer): Promise<number>;
  /** The status of an introspection that the client asks for with its own credentials. */
  introspectAs(of: { readonly client: Client; readonly bearer: Bearer }): Promise<number>;
  revokeCredential(of: Pick<CreatedIds, 'agentId' | 'credentialId'>): Promise<void>;
  send(method: string, path: string, payload: object): Promise<{ status: number; json: CreatedIds }>;
  /** The agent's version and status as this node returns them. */
  agentState(agentId: string): Promise<string>;
}

interface CreatedIds {
  readonly credentialId: string;
  readonly agentId: string;
  readonly organizationId: string;
}

interface AgentState {
  readonly version: string;
  readonly status: string;
}

/** As a process of its own; the other nodes share the process of the test. */
const startProcess = async (env: Record<string, string>): Promise<Server> => {
  const { url, program } = await startServe(env);
  return { url, log: program.output };
};

async function startNode(
  env: Record<string, string>,
  operator: Client,
  startServer: (env: Record<string, string>) => Promise<Server> = startServerInProcess,
): Promise<Node> {
  const service = await startServer(env);
  const headers = await authorize(service.url, operator);
  const ask = (path: string, init: RequestInit) => fetch(`${service.url}/api/v1${path}`, init);
  const form = (path: string, { authorization }: Bearer) =>
    ask(path, {
      method: 'POST',
      headers,
      body: new URLSearchParams({ token: authorization.slice('Bearer '.length) }),
    });
  return {
    ...service,
    async statusWith(bearer) {
      const response = await ask('/agents?limit=1', { headers: { ...bearer } });
      await response.arrayBuffer();
      return response.status;
    },
    async isActive(bearer) {
      return ((await (await form('/token/introspect', bearer)).json()) as { active: boolean }).active;
    },
    async agentState(agentId) {
      const { version, status } = (await (await ask(`/agents/${agentId}`, { headers })).json()) as AgentState;
      return `${version} ${status}`;
    },
    revoke: async (bearer) => (await form('/token/revoke', bearer)).status,
    async introspectAs({ client: { clientId, clientSecret }, bearer }) {
      const token = bearer.authorization.slice('Bearer '.length);
      const body = new URLSearchParams({ token, client_id: clientId, client_secret: clientSecret });
      return (await ask('/token/introspect', { method: 'POST', body })).status;
    },
    async revokeCredential({ agentId, credentialId }) {
      const { status } = await ask(`/agents/${agentId}/credentials/${credentialId}`, {
        method: 'DELETE',
        headers,
      });
      assert.equal(status, 204);
    },
    async send(method, path, payload) {
      const response = await ask(path, {
        method,
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(payload),
      });
      return { status: response.status, json: (await response.json()) as CreatedIds };
    },
  };
}

async function start(t: TestContext) {
  const redis = await startRedis();
  if (!redis) return skipWithout(t, 'redis-server');
  const env = environment(await createDatabase(), { REDIS_URL: redis.url });
  return { redis, env, operator: await makeOperator(env) };
}

/** An agent in a new organization and its token. The token is used once so that its status is cached. */
async function createTenantAgent(node: Node) {
  const slug = `home-${crypto.randomUUID()}`;
  const { organizationId } = (await node.send('POST', '/organizations', { name: 'Home', slug })).json;
  const { agentId } = (await node.send('POST', '/agents', newAgent({ organization_id: organizationId })))
    .json;
  const made = await node.send('POST', `/agents/${agentId}/credentials`, {});
  const client = made.json as unknown as Client;
  const bearer = await authorize(node.url, client);
  assert.equal(await node.statusWith(bearer), 200);
  return { organizationId, agentId, credentialId: made.json.credentialId, client, bearer };
}

describe('token status and agents cached in Redis', () => {
  test('401 or 403 at every node with the next request after one node revokes or suspends', async (t) => {
    const started = await start(t);
    if (!started) return;
    const [one, other] = await Promise.all([
      startNode(started.env, started.operator),
      startNode(started.env, started.operator, startProcess),
    ]);
    const [revoked, suspended, orgSuspended, withoutCredential] = [
      await createTenantAgent(one),
      await createTenantAgent(one),
      await createTenantAgent(one),
      await createTenantAgent(one),
    ];
    for (const { bearer } of [revoked, suspended, orgSuspended, withoutCredential])
      assert.equal(await other.statusWith(bearer), 200);

    assert.equal(await one.revoke(revoked.bearer), 200);
    assert.equal(await other.statusWith(revoked.bearer), 401);

    assert.equal(await other.introspectAs(withoutCredential), 200);
    await one.revokeCredential(withoutCredential);
    assert.equal(await other.introspectAs(withoutCredential), 401);
    assert.equal(await other.statusWith(withoutCredential.bearer), 401);
    assert.equal(await other.isActive(withoutCredential.bearer), false);

    await one.send('PATCH', `/agents/${suspended.agentId}`, { status: 'suspended' });
    assert.equal(await other.statusWith(suspended.bearer), 401);
    await one.send('PATCH', `/agents/${suspended.agentId}`, { status: 'active' });
    assert.equal(
      await other.statusWith(suspended.bearer),
      401,
      'a token issued before the suspension stays invalid',
    );

    await one.send('PATCH', `/organizations/${orgSuspended.organizationId}`, { status: 'suspended' });
    assert.equal(await other.statusWith(orgSuspended.bearer), 403);
    assert.equal(await other.isActive(orgSuspended.bearer), false);
    await one.send('PATCH', `/organizations/${orgSuspended.organizationId}`, { status: 'active' });
    assert.equal(
      await other.statusWith(orgSuspended.bearer),
      401,
      'a token issued before the suspension stays invalid',
    );
    assert.equal(await other.statusWith(await authorize(one.url, orgSuspended.client)), 200);
  });

  test('every node returns a changed agent at once, also after Redis loses its data', async (t) => {
    const started = await start(t);
    if (!started) return;
    const { redis, env, operator } = started;
    const [one, other] = await Promise.all([startNode(env, operator), startNode(env, operator)]);
    const { agentId } = await createTenantAgent(one);
    const change = (payload: object) => one.send('PATCH', `/agents/${agentId}`, payload);
    const keys = () => withRedis(redis.port, (client) => client.keys(`countersign:agent:*:${agentId}`));
    const both = async () => [await one.agentState(agentId), await other.agentState(agentId)];

    assert.deepEqual(await both(), ['1.0.0 active', '1.0.0 active']);
    assert.equal((await keys()).length, 1, 'Redis is asked');
    await change({ version: '2.0.0' });
    assert.deepEqual(await both(), ['2.0.0 active', '2.0.0 active']);

    await withRedis(redis.port, (client) => client.flushall());
    assert.deepEqual(await both(), ['2.0.0 active', '2.0.0 active']);
    await change({ status: 'suspended' });
    assert.deepEqual(await both(), ['2.0.0 suspended', '2.0.0 suspended']);

    redis.program.kill('SIGKILL');
    await redis.program.ended();
    await change({ status: 'active' });
    assert.deepEqual(await both(), ['2.0.0 active', '2.0.0 active']);
    await startRedis(redis.port);
    assert.deepEqual(await both(), ['2.0.0 active', '2.0.0 active']);
  });

  test('401 for a revoked token and 200 for others after Redis is flushed or restarted', async (t) => {
    const started = await start(t);
    if (!started) return;
    const { redis, env, operator } = started;
    const node = await startNode(env, operator);
    const [revoked, live] = [await createTenantAgent(node), await createTenantAgent(node)];
    assert.equal(await node.revoke(revoked.bearer), 200);
    const keys = () => withRedis(redis.port, (client) => client.keys('countersign:standing:*'));
    assert.ok((await keys()).length > 0, 'Redis is asked');

    await withRedis(redis.port, (client) => client.flushall());
    assert.deepEqual([await node.statusWith(revoked.bearer), await node.statusWith(live.bearer)], [401, 200]);
    assert.ok((await keys()).length > 0, 'the status is cached again');

    redis.program.kill('SIGKILL');
    await redis.program.ended();
    assert.deepEqual([await node.statusWith(revoked.bearer), await node.statusWith(live.bearer)], [401, 200]);
    assert.equal(await node.revoke(live.bearer), 200);
    assert.equal(await node.statusWith(live.bearer), 401);

    await startRedis(redis.port);
    assert.deepEqual([await node.statusWith(revoked.bearer), await node.statusWith(live.bearer)], [401, 401]);
  });

  test('401 at the other node when Redis is full: every node stops reading it', async (t) => {
    const started = await start(t);
    if (!started) return;
    const { redis, env, operator } = started;
    const nodes = [
      await startNode({ ...env, LOG_LEVEL: 'info' }, operator),
      await startNode({ ...env, LOG_LEVEL: 'info' }, operator),
    ] as const;
    const [one, other] = nodes;
    const [first, second] = [await createTenantAgent(one), await createTenantAgent(one)];
    assert.equal(await other.statusWith(first.bearer), 200);
    const memory = (limit: string) =>
      withRedis(redis.port, (client) => client.config('SET', 'maxmemory', limit));
    const untilBothSay = (words: string) =>
      Promise.all(nodes.map(({ log }) => until(words, async () => log().includes(words) || undefined)));

    await memory('1');
    await untilBothSay('redis unavailable: OOM');
    assert.equal(await one.revoke(first.bearer), 200);
    assert.equal(await other.statusWith(first.bearer), 401);
    assert.match(await (await fetch(`${other.url}/health`)).text(), /"redis":"away"/);

    await memory('0');
    await untilBothSay('redis available again');
    assert.equal(await one.revoke(second.bearer), 200);
    // Missed invalidations are published within a second after Redis is back; a busy machine may take longer.
    for (const { bearer } of [first, second])
      await until(
        'the other node refuses the token',
        async () => (await other.statusWith(bearer)) === 401 || undefined,
      );
  });

  test('401 at once at a node that revokes without Redis, at the others once it reconnects', async (t) => {
    const started = await start(t);
    if (!started) return;
    const { redis, env, operator } = started;
    const relay = await startRelay(redis.port);
    const [cutOff, other] = await Promise.all([
      startNode({ ...env, REDIS_URL: `redis://127.0.0.1:${relay.port}` }, operator),
      startNode(env, operator),
    ]);
    const { bearer } = await createTenantAgent(cutOff);
    assert.equal(await other.statusWith(bearer), 200);

    relay.cut();
    assert.equal(await cutOff.revoke(bearer), 200);
    assert.equal(await cutOff.statusWith(bearer), 401);
    await relay.restore();
    await until(
      'the other node refuses the token',
      async () => (await other.statusWith(bearer)) === 401 || undefined,
    );
    assert.equal(await cutOff.statusWith(bearer), 401);
  });
});
