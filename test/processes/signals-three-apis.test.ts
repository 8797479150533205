/**
 * Revocation that reaches three real APIs: the programs of docs/guides/revocation-signals.md (Fastify, FastAPI, MCP) verify offline and learn
 * by signals what has ended, from two serving processes of ours, also when one of them is killed at that moment. `whenSilent` is `accept`, so
 * that only a signal can refuse. The times are printed, and go into the guide by hand: the machine of a test may be slow.
 */
import assert from 'node:assert/strict';
import { copyFileSync, cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createClient } from '../../sdk/typescript/src/sdk.ts';
import { succeed } from '../support/child-process.ts';
import { guidePrograms, guides } from '../support/clients/guide-programs.ts';
import { environment, skipWithout, withLongConnectTimeout } from '../support/harness.ts';
import { getOnNewConnection, isGone, requestsByProcess } from '../support/processes.ts';
import {
  findProgram,
  freePort,
  type Program,
  startCountersign,
  startProgram,
  startRedis,
  until,
  untilHealthy,
} from '../support/programs.ts';
import { createAuthorizationScenario } from '../support/scenarios/authorization.ts';

const timeout = 600_000;
/** A signal takes some milliseconds. A busy machine may take longer, and a lost one never comes. */
const patienceMs = 20_000;
const python = fileURLToPath(new URL('../../sdk/python', import.meta.url));

type Scenario = Awaited<ReturnType<typeof createAuthorizationScenario>>;
interface Api {
  readonly name: string;
  /** The status of a call with this token. */
  call(token: string): Promise<number>;
}
interface Victim {
  readonly name: string;
  readonly token: string;
  /** Ends the token. */
  end(): Promise<void>;
}
type Times = Readonly<Record<string, number>>;

/** Two serving processes behind one port, and a node in this process for the people's browsers. */
async function startInstance() {
  const redis = await startRedis();
  if (!redis) return undefined;
  const port = await freePort();
  const issuer = `http://localhost:${port}`;
  const scenario = await createAuthorizationScenario({ BASE_URL: issuer, REDIS_URL: redis.url });
  const program = startCountersign(
    ['serve'],
    environment(withLongConnectTimeout(scenario.t.databaseUrl), {
      BASE_URL: issuer,
      REDIS_URL: redis.url,
      HOST: '127.0.0.1',
      PORT: String(port),
      WEB_CONCURRENCY: '2',
      // One line per request, with the id of the process that answered.
      LOG_LEVEL: 'debug',
    }),
  );
  await untilHealthy(port, program);
  const service = { program, port, url: issuer };
  const alive = () => [...requestsByProcess(service).keys()].filter((pid) => !isGone(pid));
  const bothServe = () =>
    until('two serving processes', async () => {
      await getOnNewConnection(service, '/health');
      return alive().length === 2 || undefined;
    });
  await bothServe();
  return {
    scenario,
    bothServe,
    /** The older one: after the first kill it holds all open polls. */
    killOne: () => process.kill(alive()[0] ?? 0, 'SIGKILL'),
  };
}

async function installPython(folder: string): Promise<string> {
  // A copy, so that the build writes nothing into the checkout.
  cpSync(python, join(folder, 'sdk'), { recursive: true });
  await succeed('python3', ['-m', 'venv', '.venv'], { cwd: folder, timeout });
  const command = join(folder, '.venv', 'bin', 'python');
  const pip = ['-m', 'pip', '--quiet', '--disable-pip-version-check', 'install', './sdk[fastapi]', 'uvicorn'];
  await succeed(command, pip, { cwd: folder, timeout });
  copyFileSync(join(guides, 'signals', 'fastapi_app.py'), join(folder, 'fastapi_app.py'));
  return command;
}

const statusOf = async (url: string, init: RequestInit): Promise<number> => {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(patienceMs) });
  await response.arrayBuffer();
  return response.status;
};
const getWith = (url: string) => (token: string) =>
  statusOf(url, { headers: { authorization: `Bearer ${token}` } });
const listTools = (url: string) => (token: string) =>
  statusOf(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });

/** One resource, and three APIs that serve it. */
async function startApis({ t, issuer, organizationId, makeResource }: Scenario, folder: string) {
  // First: it takes long, and a port that was free then may be taken now.
  const command = await installPython(folder);
  const ports = { fastify: await freePort(), fastapi: await freePort(), mcp: await freePort() };
  const audience = `http://localhost:${ports.mcp}/mcp`;
  const resource = await makeResource({ identifier: audience, peopleScopes: ['orders:read'] });
  const { run } = guidePrograms('signals', {
    ISSUER: issuer,
    AUDIENCE: audience,
    ORGANIZATION_ID: organizationId,
  });
  const variables = async (port: number, whenSilent = 'accept') => {
    const own = await t.agent({ allowedScopes: ['tokens:read'] });
    return {
      CLIENT_ID: own.clientId,
      CLIENT_SECRET: own.clientSecret,
      PORT: String(port),
      WHEN_SILENT: whenSilent,
    };
  };
  const uvicorn = `-m uvicorn fastapi_app:app --log-level error --port ${ports.fastapi}`.split(' ');
  const programs: Program[] = [
    run('fastify.mjs', await variables(ports.fastify)),
    run('mcp.mjs', await variables(ports.mcp)),
    startProgram(command, uvicorn, {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        ISSUER: issuer,
        AUDIENCE: audience,
        ORGANIZATION_ID: organizationId,
        ...(await variables(ports.fastapi)),
      },
    }),
  ];
  for (const program of programs) await untilCurrent(program);
  const apis: readonly Api[] = [
    { name: 'Fastify', call: getWith(`http://localhost:${ports.fastify}/orders`) },
    { name: 'FastAPI', call: getWith(`http://127.0.0.1:${ports.fastapi}/orders`) },
    { name: 'MCP', call: listTools(audience) },
  ];
  return {
    apis,
    audience,
    resourceId: resource.resourceId as string,
    /** Another process of the first API, which learns everything when it starts. */
    async startReplica(): Promise<Api> {
      const port = await freePort();
      await untilCurrent(run('fastify.mjs', await variables(port, 'refuse')));
      return { name: 'replica', call: getWith(`http://localhost:${port}/orders`) };
    },
  };
}

const untilCurrent = (program: Program) =>
  until('signals', async () => /^signals: current$/m.test(program.stdout()) || undefined, program);

/** From sending the change until each API refuses; all of them go on refusing. */
async function timeUntilRefused(apis: readonly Api[], { token, end }: Victim): Promise<Times> {
  let sentAt = Number.POSITIVE_INFINITY;
  const watch = async ({ name, call }: Api): Promise<[string, number]> => {
    for (;;) {
      const status = await call(token);
      const elapsed = performance.now() - sentAt;
      if (status === 401) {
        assert.ok(elapsed > 0, `${name} refused a token that was good`);
        for (let again = 0; again < 3; again += 1) assert.equal(await call(token), 401, name);
        return [name, Math.round(elapsed)];
      }
      assert.equal(status, 200, name);
      assert.ok(elapsed < patienceMs, `${name} still accepts the token after ${elapsed} ms`);
      await sleep(10);
    }
  };
  const watching = Promise.all(apis.map(watch));
  const ending = async () => {
    sentAt = performance.now();
    await end();
  };
  const [times] = await Promise.all([watching, ending()]);
  return Object.fromEntries(times);
}

describe('signals to three APIs', { timeout }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-three-apis-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  it('an agent, a credential, a chain, a consent and a grant end at all of them; also while a process of ours is killed', async (test) => {
    if (!findProgram('python3')) return skipWithout(test, 'python3');
    const instance = await startInstance();
    if (!instance) return skipWithout(test, 'redis-server');
    const { scenario, killOne, bothServe } = instance;
    const { apis, audience, resourceId, startReplica } = await startApis(scenario, folder);
    const { victims, buyer, tokenOf } = createVictims(scenario, audience, resourceId);
    const bystander = await tokenOf(await buyer());
    const ended: string[] = [];

    const round = async (title: string, before: () => void) => {
      for (const make of victims) {
        await bothServe();
        const victim = await make();
        for (const { name, call } of apis) assert.equal(await call(victim.token), 200, name);
        const times = await timeUntilRefused(apis, {
          ...victim,
          async end() {
            before();
            await victim.end();
          },
        });
        report(test, `${title}: ${victim.name}`, times);
        for (const { name, call } of apis)
          assert.equal(await call(bystander), 200, `${name}, after ${victim.name}`);
        ended.push(victim.token);
      }
    };
    await round('both processes run', () => {});
    await round('one is killed', killOne);

    // A process that starts later learns of ends from before. It refuses what it does not know.
    const replica = await startReplica();
    for (const token of ended) assert.equal(await replica.call(token), 401);
    assert.equal(await replica.call(bystander), 200);
  });
});

const report = (test: TestContext, title: string, times: Times) =>
  test.diagnostic(
    `${title}: ${Object.entries(times)
      .map(([name, ms]) => `${name} ${ms} ms`)
      .join(', ')}`,
  );

/** A token for each kind of end, and its end over the API. */
function createVictims(scenario: Scenario, audience: string, resourceId: string) {
  const { t, issuer, member, tokensFor, publicClient } = scenario;
  const resource = audience;

  /** Over HTTP, so that a serving process does it. A request that a killed process lost is sent again. */
  const change = async (method: string, path: string, body?: object): Promise<void> => {
    const authorization = `Bearer ${await t.token()}`;
    const status = await until(`${method} ${path}`, () =>
      statusOf(`${issuer}/api/v1${path}`, {
        method,
        headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      }),
    );
    assert.ok(status < 300 || status === 404, `${method} ${path}: ${status}`);
  };
  const succeedWith = async (method: 'POST' | 'PUT', path: string, payload: object = {}) => {
    const answer = await t.call(method, `/api/v1${path}`, { token: await t.token(), payload });
    assert.ok(answer.status < 300, answer.text);
    return answer.json;
  };
  type Agent = Awaited<ReturnType<typeof t.agent>>;
  const clientOf = ({ clientId, clientSecret }: Agent) =>
    createClient({ issuer, clientId, auth: clientSecret });
  const tokenOf = (agent: Agent) => clientOf(agent).token({ resource });
  const buyer = async (): Promise<Agent> => {
    const agent = await t.agent({ allowedScopes: [] });
    await succeedWith('PUT', `/agents/${agent.agentId}/grants/${resourceId}`, { scopes: ['orders:read'] });
    return agent;
  };

  const victims: readonly (() => Promise<Victim>)[] = [
    async () => {
      const agent = await buyer();
      const end = () => change('PATCH', `/agents/${agent.agentId}`, { status: 'suspended' });
      return { name: 'agent suspended', token: await tokenOf(agent), end };
    },
    async () => {
      const agent = await buyer();
      const { data } = (
        await t.call('GET', `/api/v1/agents/${agent.agentId}/credentials`, { token: await t.token() })
      ).json;
      const path = `/agents/${agent.agentId}/credentials/${data[0].credentialId}`;
      return { name: 'credential revoked', token: await tokenOf(agent), end: () => change('DELETE', path) };
    },
    async () => {
      const [delegator, delegatee] = [await buyer(), await t.agent({ allowedScopes: [] })];
      const { chainId, delegationToken } = await clientOf(delegator).delegate({
        delegateeId: delegatee.agentId,
        scopes: ['orders:read'],
        resource: [resource],
      });
      const token = await clientOf(delegatee).redeem(delegationToken).token({ resource });
      return { name: 'delegation revoked', token, end: () => change('DELETE', `/delegations/${chainId}`) };
    },
    async () => {
      const person = await member();
      const { access_token: token = '' } = await tokensFor(person.browser, await publicClient(), {
        resource,
      });
      const own = '/console/api/me/delegations';
      const { json } = await person.browser.request(`${own}?status=active&page=1&limit=10`);
      const end = async () => {
        const answer = await person.browser.change('DELETE', `${own}/${json.data[0].chainId}`);
        assert.ok(answer.status < 300, answer.text);
      };
      return { name: 'consent withdrawn', token, end };
    },
    async () => {
      const agent = await buyer();
      const end = () => change('DELETE', `/agents/${agent.agentId}/grants/${resourceId}`);
      return { name: 'grant removed', token: await tokenOf(agent), end };
    },
  ];
  return { victims, buyer, tokenOf };
}
