/** The APIs of docs/guides/protect, as the guide gives them out: each accepts tokens for its own audience and scopes only. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ClientCredentialsProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { decodeProtectedHeader } from 'jose';
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import { succeed as build } from '../support/child-process.ts';
import { listen } from '../support/clients/listening.ts';
import { environment, skipWithout, startApp, type TestApp } from '../support/harness.ts';
import { findProgram, freePort, type Program, startProgram, until } from '../support/programs.ts';

const examples = fileURLToPath(new URL('../../docs/guides/protect/', import.meta.url));
const buildMs = 600_000;

/** The RSA key signs; the others are published, too. */
const [p256, ed25519] = [generateKeyPair('p-256'), generateKeyPair('ed25519')];
const t = await listen({ JWT_PREVIOUS_PUBLIC_KEYS: p256.publicPem + ed25519.publicPem });
/** Nodes of the same instance with another key, as in a rotation. */
const nodeWith = ({ privatePem, publicPem }: typeof p256): Promise<TestApp> => {
  const others = [environment('').JWT_PUBLIC_KEY, p256.publicPem, ed25519.publicPem].join('');
  const keys = { JWT_PRIVATE_KEY: privatePem, JWT_PUBLIC_KEY: publicPem, JWT_PREVIOUS_PUBLIC_KEYS: others };
  return startApp({ BASE_URL: t.issuer, ...keys }, t);
};
const rotating = [
  ['ES256', await nodeWith(p256)],
  ['EdDSA', await nodeWith(ed25519)],
] as const;
const operator = await t.token();

interface Agent {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly agentId: string;
}

async function succeed(method: 'POST' | 'PUT' | 'DELETE', url: string, payload?: object) {
  const answer = await t.call(method, `/api/v1${url}`, { token: operator, ...(payload && { payload }) });
  assert.ok(answer.status < 300, `${method} ${url}: ${answer.text}`);
  return answer;
}

async function register(identifier: string): Promise<string> {
  const scopes = [{ name: 'orders:read' }, { name: 'orders:write' }];
  return (await succeed('POST', '/resources', { identifier, name: 'Orders', scopes })).json.resourceId;
}

const grant = ({ agentId }: Agent, resourceId: string, scopes: readonly string[]) =>
  succeed('PUT', `/agents/${agentId}/grants/${resourceId}`, { scopes });

const askFor = ({ clientId, clientSecret }: Agent, resource?: string, node: TestApp = t) =>
  node.askToken({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    ...(resource !== undefined && { resource }),
  });

const tokenFor = async (agent: Agent, resource?: string, node?: TestApp): Promise<string> => {
  const { status, text, json } = await askFor(agent, resource, node);
  assert.equal(status, 200, text);
  return json.access_token;
};

const folder = mkdtempSync(join(tmpdir(), 'countersign-protect-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A command that starts the example, after its dependencies were installed. */
interface Example {
  readonly name: string;
  readonly needs: readonly string[];
  prepare(): Promise<readonly [string, ...string[]]>;
}

const inNode = (name: string, file: string): Example => ({
  name,
  needs: [],
  prepare: async () => [process.execPath, join(examples, file)],
});

const examplesOfRest: readonly Example[] = [
  inNode('Fastify', 'fastify.mjs'),
  inNode('Express', 'express.mjs'),
  {
    name: 'FastAPI',
    needs: ['python3'],
    async prepare() {
      const python = join(folder, '.venv', 'bin', 'python');
      await build('python3', ['-m', 'venv', '.venv'], { cwd: folder, timeout: buildMs });
      const packages = ['fastapi', 'uvicorn', 'pyjwt[crypto]'];
      await build(python, ['-m', 'pip', 'install', '--quiet', ...packages], {
        cwd: folder,
        timeout: buildMs,
      });
      const start =
        'import os, uvicorn; uvicorn.run("fastapi_app:app", host="127.0.0.1", port=int(os.environ["PORT"]))';
      copyFileSync(join(examples, 'fastapi_app.py'), join(folder, 'fastapi_app.py'));
      return [python, '-c', start];
    },
  },
  {
    name: 'Go',
    needs: ['go'],
    async prepare() {
      const options = { cwd: folder, timeout: buildMs };
      for (const file of ['main.go', 'go.mod', 'go.sum'])
        copyFileSync(join(examples, 'go', file), join(folder, file));
      await build('go', ['build', '-o', 'orders', '.'], options);
      return [join(folder, 'orders')];
    },
  },
];

async function start(example: Example, test: TestContext, path = ''): Promise<string | undefined> {
  const missing = example.needs.find((name) => !findProgram(name));
  if (missing !== undefined) {
    skipWithout(test, missing);
    return undefined;
  }
  const [command, ...args] = await example.prepare();
  const port = await freePort();
  const audience = `http://localhost:${port}${path}`;
  const env = { ...process.env, ISSUER: t.issuer, AUDIENCE: audience, PORT: String(port) };
  const program: Program = startProgram(command, args, { env, cwd: folder });
  await until(`${example.name} answers`, () => fetch(audience), program);
  return audience;
}

const statusOf = async (url: string, method: string, token?: string) => {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(url, { method, headers });
  await response.text();
  return response.status;
};

describe('an API protected as the guide says', { timeout: 900_000 }, () => {
  for (const example of examplesOfRest) {
    it(`${example.name}: 200 within the grant, 403 beyond it, 401 for every other token`, async (test) => {
      const audience = await start(example, test);
      if (audience === undefined) return;
      const orders = `${audience}/orders`;
      const resourceId = await register(audience);
      const otherAudience = `http://localhost:${await freePort()}`;
      const otherId = await register(otherAudience);
      const [reader, writer, ungranted] = [await t.agent(), await t.agent(), await t.agent()];
      await grant(reader, resourceId, ['orders:read']);
      await grant(writer, resourceId, ['orders:read', 'orders:write']);
      await grant(writer, otherId, ['orders:read', 'orders:write']);

      const read = await tokenFor(reader, audience);
      assert.equal(await statusOf(orders, 'GET', read), 200);
      assert.equal(await statusOf(orders, 'POST', read), 403);
      assert.equal(await statusOf(orders, 'POST', await tokenFor(writer, audience)), 200);
      for (const [algorithm, node] of rotating) {
        const other = await tokenFor(reader, audience, node);
        assert.equal(decodeProtectedHeader(other).alg, algorithm);
        assert.equal(await statusOf(orders, 'GET', other), 200, algorithm);
        assert.equal(await statusOf(orders, 'POST', other), 403, algorithm);
        const renamed = Buffer.from(JSON.stringify({ ...decodeProtectedHeader(other), alg: 'RS256' }));
        const [, ...rest] = other.split('.');
        const forged = [renamed.toString('base64url'), ...rest].join('.');
        assert.equal(await statusOf(orders, 'GET', forged), 401, `${algorithm} declared as RS256`);
      }
      assert.equal(await statusOf(orders, 'GET'), 401);
      assert.equal(await statusOf(orders, 'GET', 'garbage'), 401);
      assert.equal(await statusOf(orders, 'GET', await tokenFor(writer)), 401, 'a token for our own API');
      assert.equal(
        await statusOf(orders, 'GET', await tokenFor(writer, otherAudience)),
        401,
        'another audience',
      );
      assert.equal((await askFor(ungranted, audience)).json.error, 'invalid_target');
    });
  }

  it('MCP: the SDK client discovers us by the server alone, and calls the tools that its grant allows', async (test) => {
    const audience = await start(inNode('MCP', 'mcp.mjs'), test, '/mcp');
    assert.ok(audience);
    const resourceId = await register(audience);
    const [reader, writer, ungranted] = [await t.agent(), await t.agent(), await t.agent()];
    await grant(reader, resourceId, ['orders:read']);
    await grant(writer, resourceId, ['orders:read', 'orders:write']);

    const connect = async ({ clientId, clientSecret }: Agent) => {
      const authProvider = new ClientCredentialsProvider({
        clientId,
        clientSecret,
        expectedIssuer: t.issuer,
      });
      const client = new Client({ name: 'test', version: '1.0.0' });
      await client.connect(new StreamableHTTPClientTransport(new URL(audience), { authProvider }) as never);
      test.after(() => client.close());
      return client;
    };
    const reading = await connect(reader);
    const listed = await reading.callTool({ name: 'list_orders' });
    assert.deepEqual(listed.content, [{ type: 'text', text: `orders for ${reader.agentId}` }]);
    assert.equal((await reading.callTool({ name: 'create_order' })).isError, true);
    // 400: the token is accepted, the empty request is not.
    for (const [, node] of rotating)
      assert.notEqual(await statusOf(audience, 'POST', await tokenFor(reader, audience, node)), 401);
    const written = await (await connect(writer)).callTool({ name: 'create_order' });
    assert.deepEqual(written.content, [{ type: 'text', text: `created for ${writer.agentId}` }]);
    await assert.rejects(connect(ungranted));
    assert.equal(await statusOf(audience, 'POST', await tokenFor(writer)), 401, 'a token for our own API');
    const other = `http://localhost:${await freePort()}/mcp`;
    await grant(writer, await register(other), ['orders:read', 'orders:write']);
    assert.equal(await statusOf(audience, 'POST', await tokenFor(writer, other)), 401, 'another audience');
  });
});
