/** `countersign listen` between a real server and a receiver on this machine. */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { type RunningCommand, startInProcess } from '../support/commands-in-process.ts';
import { createDatabase, environment, newAgent } from '../support/harness.ts';
import { messageText, openingText, startEventServer } from '../support/peers/event-server.ts';
import {
  authorityFile,
  type Received,
  type RequestHandler,
  startReceiver,
} from '../support/peers/receivers.ts';
import {
  authorize,
  freePort,
  makeOperator,
  type Program,
  startCountersign,
  until,
  untilHealthy,
} from '../support/programs.ts';

const folder = mkdtempSync(join(tmpdir(), 'countersign-listen-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const env = environment(await createDatabase(), {
  PORT: String(port),
  HOST: '127.0.0.1',
  WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
});
const operator = await makeOperator(env);
const startServer = async (): Promise<Program> => {
  const program = startCountersign(['serve'], { ...env, NODE_EXTRA_CA_CERTS: authorityFile });
  await untilHealthy(port, program);
  return program;
};
let server = await startServer();
const headers = { ...(await authorize(url, operator)), 'content-type': 'application/json' };
const account = {
  COUNTERSIGN_URL: url,
  COUNTERSIGN_CLIENT_ID: operator.clientId,
  COUNTERSIGN_CLIENT_SECRET: operator.clientSecret,
  XDG_CONFIG_HOME: folder,
};

const call = async (method: string, path: string, payload?: object) => {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers,
    ...(payload && { body: JSON.stringify(payload) }),
  });
  const text = await response.text();
  assert.ok(response.ok, text);
  return text === '' ? undefined : JSON.parse(text);
};
const createAgent = async (): Promise<string> => (await call('POST', '/agents', newAgent())).agentId;

const start = (args: readonly string[], changes: Record<string, string> = {}, input?: string) =>
  startInProcess(['listen', ...args], {
    env: { ...account, ...changes },
    cwd: '/',
    input,
    shortWaits: true,
  });

/** Once it follows the stream. */
async function listen(
  forwardTo: string,
  args: readonly string[] = [],
  changes: Record<string, string> = {},
): Promise<RunningCommand> {
  const program = start(['--forward-to', forwardTo, ...args], changes);
  await until('it listens', async () => program.output().includes('Ctrl-C stops') || undefined, program);
  return program;
}

const localReceiver = (answer?: RequestHandler) => startReceiver(answer, { tls: false });
const secretIn = (program: RunningCommand) => /signing secret: (whsec_\S+)/.exec(program.output())?.[1] ?? '';
const bodyOf = ({ body }: Received) => JSON.parse(body);
const untilReceived = (received: readonly Received[], count: number) =>
  until(`${count} deliveries`, async () => received.length >= count || undefined, undefined, 60_000);

async function stop(program: RunningCommand): Promise<void> {
  program.kill('SIGINT');
  assert.equal(await program.gone(), 0, program.output());
}

function requireSignature({ headers, body }: Received, secret: string): void {
  new Webhook(secret).verify(body, headers);
  const hmac = createHmac('sha256', secret).update(`${headers['x-service-timestamp']}.${body}`);
  assert.equal(headers['x-service-signature-256'], `sha256=${hmac.digest('hex')}`);
}

describe('countersign listen', () => {
  it('delivers as a webhook does: the same headers and the same bytes, signed with the printed secret', async () => {
    const real = await startReceiver();
    await call('POST', '/webhooks', { name: 'Real', url: real.url, events: ['*'] });
    const local = await localReceiver();
    const program = await listen(`http://127.0.0.1:${local.port}/hook?a=b`);
    const agentId = await createAgent();
    await call('PATCH', `/agents/${agentId}`, { version: '2.0.0' });
    const { credentialId } = await call('POST', `/agents/${agentId}/credentials`, {});
    await call('DELETE', `/agents/${agentId}/credentials/${credentialId}`);
    await authorize(url, operator);
    await call('POST', '/resources', {
      identifier: 'https://api.example.com/things',
      name: 'Things',
      scopes: [{ name: 'read' }],
    });
    await untilReceived(local.received, 6);
    await untilReceived(real.received, 6);
    const byId = new Map(real.received.map((delivery) => [bodyOf(delivery).id, delivery]));
    assert.deepEqual(
      local.received.map((delivery) => bodyOf(delivery).type),
      [
        'agent.created',
        'agent.updated',
        'credential.generated',
        'credential.revoked',
        'token.issued',
        'resource.created',
      ],
    );
    const secret = secretIn(program);
    for (const delivery of local.received) {
      const other = byId.get(bodyOf(delivery).id);
      assert.equal(delivery.body, other?.body);
      assert.deepEqual(Object.keys(delivery.headers), Object.keys(other?.headers ?? {}));
      for (const name of ['content-type', 'user-agent', 'x-service-event', 'content-length'])
        assert.equal(delivery.headers[name], other?.headers[name], name);
      assert.equal(delivery.method, 'POST');
      assert.equal(delivery.url, '/hook?a=b');
      assert.equal(delivery.headers['webhook-id'], delivery.headers['x-service-delivery-id']);
      requireSignature(delivery, secret);
    }
    await until('its lines', async () => program.stdout().split('\n').length === 7 || undefined, program);
    for (const line of program.stdout().trim().split('\n'))
      assert.match(line, /^\S+Z {2}[a-z.]+ +[0-9a-f-]{36} {2}204 in \d+ ms$/);
    assert.match(program.output(), /events of organization [0-9a-f-]{36}/);
    assert.equal(program.output().split(secret).length, 2, 'the secret is printed once');
    await stop(program);
    assert.match(program.output(), /stopped: 6 delivered, 0 failed/);
  });

  it('keeps its secret from run to run in a private file; --print-secret prints it alone', async () => {
    const run = async (...args: string[]) => {
      const program = start(args);
      assert.equal(await program.gone(), 0, program.output());
      return program.stdout();
    };
    const first = await run('--print-secret');
    assert.match(first, /^whsec_[\w+/]{43}=\n$/);
    assert.equal(await run('--print-secret'), first);
    const file = join(folder, 'countersign', 'listen.json');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(statSync(join(folder, 'countersign')).mode & 0o777, 0o700);
    assert.ok(readFileSync(file, 'utf8').includes(first.trim()));
    const program = await listen('127.0.0.1:9');
    assert.match(program.output(), /signing secret: unchanged; --print-secret prints it/);
    assert.ok(!program.output().includes(first.trim()));
    await stop(program);
  });

  it('closes the file of its secrets when others can read it, and refuses a broken one', async () => {
    const other = mkdtempSync(join(folder, 'config-'));
    const file = join(other, 'countersign', 'listen.json');
    const run = async () => {
      const program = start(['--print-secret'], { XDG_CONFIG_HOME: other });
      return { code: await program.gone(), output: program.output(), stdout: program.stdout() };
    };
    const all = await Promise.all([run(), run(), run()]);
    assert.equal(
      new Set(all.map(({ stdout }) => stdout)).size,
      1,
      'commands at the same time make one secret',
    );
    chmodSync(file, 0o644);
    assert.match((await run()).output, /was open to other users of this machine/);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    for (const text of ['{', '[]', 'null', '{"a":1}']) {
      writeFileSync(file, text);
      const { code, output } = await run();
      assert.equal(code, 1, output);
      assert.match(output, /holds no signing secrets; repair it, or remove it/);
      assert.equal(readFileSync(file, 'utf8'), text);
    }
  });

  it('signs with a secret from standard input, and does not print it', async () => {
    const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
    const local = await localReceiver();
    const args = ['--forward-to', `127.0.0.1:${local.port}`, '--secret-stdin'];
    const program = start(args, {}, `${secret}\n`);
    await until('it listens', async () => program.output().includes('Ctrl-C stops') || undefined, program);
    await createAgent();
    await untilReceived(local.received, 1);
    for (const delivery of local.received) requireSignature(delivery, secret);
    assert.ok(!program.output().includes(secret));
    await stop(program);
  });

  it('first delivers the last events that match, oldest first, and then follows, each once', async () => {
    // An older event of the other type, which is not among the last two.
    await call('PATCH', `/agents/${await createAgent()}`, { status: 'suspended' });
    const agents = [await createAgent(), await createAgent(), await createAgent()];
    await authorize(url, operator);
    const local = await localReceiver();
    const program = await listen(local.url.replace('https', 'http'), [
      '--events',
      'agent.created,agent.suspended',
      '--replay',
      '2',
    ]);
    await untilReceived(local.received, 2);
    const later = await createAgent();
    await call('PATCH', `/agents/${later}`, { status: 'suspended' });
    await authorize(url, operator);
    await untilReceived(local.received, 4);
    assert.deepEqual(
      local.received.map((delivery) => `${bodyOf(delivery).type} ${bodyOf(delivery).data.agentId}`),
      [
        `agent.created ${agents[1]}`,
        `agent.created ${agents[2]}`,
        `agent.created ${later}`,
        `agent.suspended ${later}`,
      ],
    );
    assert.match(program.output(), /events: +agent\.created, agent\.suspended/);
    await stop(program);
  });

  it('sends a delivery again that fails, with the same id, while later events wait; then gives up', async () => {
    let failing = 2;
    const local = await localReceiver(
      (_, response) => void response.writeHead(failing-- > 0 ? 500 : 204).end(),
    );
    const program = await listen(`http://127.0.0.1:${local.port}/`, ['--events', 'agent.*']);
    const [first, second] = [await createAgent(), await createAgent()];
    await untilReceived(local.received, 4);
    assert.deepEqual(
      local.received.map((delivery) => bodyOf(delivery).data.agentId),
      [first, first, first, second],
    );
    const ids = local.received.map(({ headers }) => headers['x-service-delivery-id']);
    assert.deepEqual([ids[0] === ids[1], ids[1] === ids[2], ids[2] === ids[3]], [true, true, false]);
    assert.match(program.stdout(), /500 in \d+ ms {2}attempt 1 of 4, again in 1 s\n/);
    assert.match(program.stdout(), /500 in \d+ ms {2}attempt 2 of 4, again in 3 s\n/);
    await local.close();
    await createAgent();
    await until(
      'it gives up',
      async () => program.stdout().includes('given up after 4') || undefined,
      program,
    );
    assert.match(program.stdout(), /ECONNREFUSED.* {2}given up after 4 attempts\n/);
    await stop(program);
    assert.match(program.output(), /2 delivered, 1 failed\n/);
    const stopped = await listen(`http://127.0.0.1:${local.port}/`, ['--events', 'agent.*', '--replay', '2']);
    await until('it tries', async () => stopped.stdout().includes('attempt 1 of 4') || undefined, stopped);
    await stop(stopped);
    assert.match(stopped.output(), /stopped: 0 delivered, 0 failed, 2 not delivered, nor later ones\n/);
  });

  it('does not follow a redirect, and a slow receiver gets the events one at a time', async () => {
    const aim = await localReceiver();
    let busy = 0;
    let most = 0;
    const local = await localReceiver(async (_, response) => {
      most = Math.max(most, ++busy);
      await new Promise((resolve) => setTimeout(resolve, 700));
      busy -= 1;
      response.writeHead(local.received.length === 1 ? 302 : 204, { location: aim.url }).end();
    });
    const program = await listen(`http://127.0.0.1:${local.port}/`, ['--events', 'agent.created']);
    for (let count = 0; count < 5; count += 1) await createAgent();
    await untilReceived(local.received, 6);
    assert.equal(most, 1);
    assert.equal(aim.connections(), 0);
    assert.match(program.stdout(), /302 in \d+ ms {2}attempt 1/);
    assert.ok(Number(/204 in (\d+) ms/.exec(program.stdout())?.[1]) >= 690);
    await stop(program);
  });

  it('refuses wrong options with one line and code 2, and creates nothing', async () => {
    const config = join(folder, 'none');
    for (const [args, message] of [
      [[], /--forward-to is missing/],
      [['--forward-to', 'ftp://x/'], /--forward-to must be an http or https address/],
      [['--forward-to', 'http://me:word@localhost/'], /must not carry credentials/],
      [
        ['--forward-to', 'localhost:1', '--events', 'agent.craeted'],
        /no event "agent.craeted"; there are agent.created, /,
      ],
      [['--forward-to', 'localhost:1', '--events', ''], /no event ""/],
      [['--forward-to', 'localhost:1', '--replay', '101'], /--replay must be a number from 0 to 100/],
      [['--forward-to', 'localhost:1', '--replay', '-1'], /--replay must be a number/],
      [['--forward-to', 'localhost:1', '--secret-stdin'], /standard input is empty/],
    ] as const) {
      const program = start(args, { XDG_CONFIG_HOME: config });
      assert.equal(await program.gone(), 2, program.output());
      assert.match(program.output(), message);
      assert.ok(!program.output().includes('word'));
      assert.doesNotMatch(program.output(), /\n\s+at /);
    }
    const args = ['--forward-to', 'localhost:1', '--secret-stdin'];
    const program = start(args, { XDG_CONFIG_HOME: config }, 'none\n');
    assert.equal(await program.gone(), 2, program.output());
    assert.match(program.output(), /standard input has no signing secret: it must be whsec_/);
    assert.equal(existsSync(config), false);
  });

  it('prints hostile text of a server as escapes', async () => {
    const hostile = '\u001b[2J\n\u202e';
    const peer = await startEventServer((_, response) => {
      response.write(openingText(0) + messageText(1, { eventId: hostile, metadata: { owner: hostile } }));
    });
    const local = await localReceiver();
    const program = await listen(`http://127.0.0.1:${local.port}/`, [], { COUNTERSIGN_URL: peer.url });
    await untilReceived(local.received, 1);
    assert.equal(bodyOf(local.received[0] as Received).data.owner, hostile);
    await until('its line', async () => program.stdout().includes('204 in') || undefined, program);
    assert.equal(program.stdout().split('\n').length, 2);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be printed
    assert.doesNotMatch(program.output(), /[\u001b\u202e]/);
    await stop(program);
  });

  it('continues after the server has restarted: every event once', async () => {
    const local = await localReceiver();
    const program = await listen(`http://127.0.0.1:${local.port}/`, ['--events', 'agent.created']);
    const created: string[] = [];
    for (let count = 0; count < 10; count += 1) created.push(await createAgent());
    server.kill('SIGKILL');
    await server.gone();
    await until(
      'it is unreachable',
      async () => /is unreachable/.test(program.output()) || undefined,
      program,
    );
    // It ends with this test, so it is the last one.
    server = await startServer();
    for (let count = 0; count < 10; count += 1) created.push(await createAgent());
    await until('it is back', async () => /is back/.test(program.output()) || undefined, program);
    await untilReceived(local.received, 20);
    assert.deepEqual(
      local.received.map((delivery) => bodyOf(delivery).data.agentId),
      created,
    );
    await stop(program);
  });
});
