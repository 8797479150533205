/** `countersign audit tail` against a real server that restarts, and a server that sends hostile text. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type RunningCommand, startInProcess } from '../support/commands-in-process.ts';
import { createDatabase, environment, newAgent } from '../support/harness.ts';
import { messageText, openingText, startEventServer } from '../support/peers/event-server.ts';
import { authorize, freePort, startCountersign, until, untilHealthy } from '../support/programs.ts';
import { startServerInProcess } from '../support/server-in-process.ts';

const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const env = environment(await createDatabase(), { PORT: String(port), HOST: '127.0.0.1' });
const server = await startServerInProcess(env, port);
const { operator } = server;
const headers = { ...(await authorize(url, operator)), 'content-type': 'application/json' };
const account = {
  COUNTERSIGN_URL: url,
  COUNTERSIGN_CLIENT_ID: operator.clientId,
  COUNTERSIGN_CLIENT_SECRET: operator.clientSecret,
};

/** On a terminal, where it says when it follows the log. */
const tail = (args: readonly string[] = [], changes: Record<string, string> = {}): RunningCommand =>
  startInProcess(['audit', 'tail', ...args], {
    env: { ...account, ...changes },
    cwd: '/',
    columns: 100,
    shortWaits: true,
  });

async function createAgent(changes: Record<string, unknown> = {}) {
  const body = JSON.stringify(newAgent(changes));
  const response = await fetch(`${url}/api/v1/agents`, { method: 'POST', headers, body });
  const text = await response.text();
  assert.equal(response.status, 201, text);
  return JSON.parse(text).agentId as string;
}

const untilPrinted = (program: RunningCommand, what: string | RegExp) =>
  until(
    `${what} is printed`,
    async () =>
      (typeof what === 'string' ? program.output().includes(what) : what.test(program.output())) || undefined,
    program,
    60_000,
  );

/** With its first event. */
async function untilFollowing(program: RunningCommand): Promise<void> {
  await untilPrinted(program, 'Ctrl-C stops.');
  await untilPrinted(program, await createAgent());
}

const eventsIn = (program: RunningCommand) =>
  program
    .stdout()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

describe('countersign audit tail', () => {
  it('prints one line for each event, and ends with code 0 on Ctrl-C', async () => {
    const program = tail();
    await untilFollowing(program);
    const agentId = await createAgent({ owner: 'a team' });
    await untilPrinted(program, agentId);
    const line =
      program
        .stdout()
        .split('\n')
        .find((text) => text.includes(agentId)) ?? '';
    assert.match(
      line,
      /^\d{4}-\d\d-\d\dT[\d:.]+Z {2}agent\.created {13}success {2}[0-9a-f-]{36} {2}by=[0-9a-f-]{36} from=/,
    );
    assert.match(line, /owner=a team/);
    program.kill('SIGINT');
    assert.equal(await program.gone(), 0);
    assert.match(program.output(), /\nstopped\n$/);
  });

  it('prints with --json what GET /audit/{eventId} answers', async () => {
    const program = tail(['--json', '--action', 'agent.created']);
    await untilFollowing(program);
    const [event] = eventsIn(program);
    const answer = await fetch(`${url}/api/v1/audit/${event.eventId}`, { headers });
    assert.deepEqual(event, await answer.json());
    program.kill('SIGTERM');
    assert.equal(await program.gone(), 0);
  });

  it('prints earlier events with --since, and selects by --action, --agent and --outcome', async () => {
    const old = await createAgent();
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const since = new Date().toISOString();
    const [first, second] = [await createAgent(), await createAgent()];
    await fetch(`${url}/api/v1/agents/${first}`, {
      method: 'PATCH',
      headers,
      body: JSON.stringify({ version: '2.0.0' }),
    });
    await fetch(`${url}/api/v1/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: second,
        client_secret: 'cs_wrong',
      }),
    });
    const run = async (args: readonly string[], last: string) => {
      const program = tail(['--json', ...args]);
      await untilPrinted(program, last);
      program.kill('SIGINT');
      assert.equal(await program.gone(), 0);
      return eventsIn(program).map(({ action, agentId }) => `${action} ${agentId}`);
    };
    assert.deepEqual(await run(['--since', since, '--action', 'agent.*'], 'agent.updated'), [
      `agent.created ${first}`,
      `agent.created ${second}`,
      `agent.updated ${first}`,
    ]);
    assert.ok((await run(['--since', '1h'], second)).includes(`agent.created ${old}`));
    assert.deepEqual(await run(['--since', since, '--agent', first], 'agent.updated'), [
      `agent.created ${first}`,
      `agent.updated ${first}`,
    ]);
    for (const line of await run(['--since', since, '--outcome', 'failure'], second))
      assert.match(line, /refused/);
  });

  it('fails with one line for wrong options, credentials, scopes and addresses', async () => {
    const reader = await fetch(`${url}/api/v1/agents`, {
      method: 'POST',
      headers,
      body: JSON.stringify(newAgent({ allowedScopes: ['agents:read'] })),
    });
    const { agentId } = (await reader.json()) as { agentId: string };
    const credential = await fetch(`${url}/api/v1/agents/${agentId}/credentials`, {
      method: 'POST',
      headers,
      body: '{}',
    });
    const { clientId, clientSecret } = (await credential.json()) as Record<string, string>;
    const cases: [readonly string[], Record<string, string>, RegExp, number?][] = [
      [['--agent', 'x'], {}, /there is no agent x that this account can see/, 5],
      [['--outcome', 'x'], {}, /--outcome must be success or failure/, 2],
      [['--since', 'x'], {}, /--since must be a duration/, 2],
      [['--since', '2999-01-01'], {}, /must not be in the future/, 2],
      [['--action', 'a*b'], {}, /action must be/],
      [[], { COUNTERSIGN_CLIENT_SECRET: 'cs_wrong' }, /invalid_client/],
      [
        [],
        { COUNTERSIGN_CLIENT_ID: clientId ?? '', COUNTERSIGN_CLIENT_SECRET: clientSecret ?? '' },
        /INSUFFICIENT_SCOPE/,
        4,
      ],
      [[], { COUNTERSIGN_URL: `http://127.0.0.1:${await freePort()}` }, /cannot reach/],
    ];
    for (const [args, changes, message, code] of cases) {
      const program = tail(args, changes);
      const ended = await program.gone();
      assert.match(program.output(), message);
      assert.doesNotMatch(program.output(), /\n\s+at /);
      assert.equal(program.stdout(), '');
      if (code === undefined) assert.notEqual(ended, 0);
      else assert.equal(ended, code, program.output());
    }
  });

  it('continues after the server was stopped, and after it was killed: no event is lost or repeated', async () => {
    const program = tail(['--json', '--action', 'agent.created']);
    await untilFollowing(program);
    const created: string[] = [];
    /** It returns how it ends, as the next one does. */
    const startAndKill = async () => {
      const process = startCountersign(['serve'], env);
      await untilHealthy(port, process);
      return async () => {
        process.kill('SIGKILL');
        await process.gone();
      };
    };
    const startAndStop = async () => (await startServerInProcess(env, port)).stop;
    let end = server.stop;
    for (const startNext of [startAndKill, startAndStop]) {
      const known = program.output().length;
      for (let count = 0; count < 20; count += 1) created.push(await createAgent());
      await end();
      const rest = () => program.output().slice(known);
      await until(
        'it is unreachable',
        async () => /is unreachable \(.*trying again/.test(rest()) || undefined,
        program,
      );
      // Its server ends with this test, so it is the last one.
      end = await startNext();
      for (let count = 0; count < 20; count += 1) created.push(await createAgent());
      await until('it is back', async () => /is back/.test(rest()) || undefined, program);
      await untilPrinted(program, created.at(-1) ?? '');
    }
    const printed = eventsIn(program).map(({ agentId }) => agentId);
    assert.equal(new Set(printed).size, printed.length, 'an event is repeated');
    assert.deepEqual(printed.slice(-created.length), created);
    program.kill('SIGINT');
    assert.equal(await program.gone(), 0);
  });
});

describe('countersign audit tail with a server that is not ours', () => {
  it('prints control characters as escapes, and JSON that can be parsed', async () => {
    const hostile = '\u001b[2J\u0007\n\u009b31m\u202edeppots\u2028\ud800';
    const changes = {
      action: hostile,
      ipAddress: hostile,
      timestamp: hostile,
      metadata: { [hostile]: hostile, deep: { x: hostile } },
    };
    const peer = await startEventServer((_, response) => {
      response.write(openingText(0) + messageText(1, changes) + messageText(2));
    });
    for (const args of [[], ['--json']]) {
      const program = tail(args, { COUNTERSIGN_URL: peer.url });
      await untilPrinted(program, /number(=|":)2/);
      const text = program.stdout();
      assert.equal(text.split('\n').length, 3, text);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be printed
      assert.doesNotMatch(text, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e\u2028\ufffd]/);
      if (args.length > 0) assert.equal(eventsIn(program)[0].action, hostile);
      program.kill('SIGINT');
      await program.gone();
    }
  });

  it('resumes a stream that was cut within a message, once for each cut, and takes no part of a message', async () => {
    const whole = messageText(2);
    const peer = await startEventServer((number, response) => {
      response.write(openingText(number === 0 ? 0 : 1));
      if (number === 0) response.write(messageText(1) + whole.slice(0, 90));
      if (number === 0) setTimeout(() => response.destroy(), 300);
      else response.write(whole + messageText(3));
    });
    const program = tail(['--json'], { COUNTERSIGN_URL: peer.url });
    await untilPrinted(program, /"number":3/);
    assert.deepEqual(
      eventsIn(program).map(({ metadata }) => metadata.number),
      [1, 2, 3],
    );
    assert.deepEqual(peer.opened, [undefined, '2f6a8e4d5c3b-1']);
    program.kill('SIGINT');
    await program.gone();
  });

  it('renews its token when the stream has ended with it, and waits while the server is overloaded', async () => {
    const statuses: Record<number, number> = { 1: 401, 3: 503, 4: 429 };
    const peer = await startEventServer(
      (number, response) => {
        response.write(openingText(number));
        response.write(messageText(number + 1));
        if (number < 5) setTimeout(() => response.end(), 200);
      },
      (number) => statuses[number] ?? 200,
    );
    const program = tail(['--json'], { COUNTERSIGN_URL: peer.url });
    await untilPrinted(program, /"number":6/);
    assert.deepEqual(
      eventsIn(program).map(({ metadata }) => metadata.number),
      [1, 3, 6],
    );
    assert.equal(peer.tokens(), 2);
    const [first, ...others] = peer.opened.map((id) => id?.split('-')[1]);
    assert.deepEqual([first, ...others], [undefined, '1', '1', '3', '3', '3']);
    program.kill('SIGINT');
    assert.equal(await program.gone(), 0);
  });

  it('ends with code 4 and one line when the server refuses it later', async () => {
    const peer = await startEventServer(
      (number, response) => {
        response.write(openingText(number));
        setTimeout(() => response.end(), 200);
      },
      (number) => (number === 0 ? 200 : 403),
    );
    const program = tail([], { COUNTERSIGN_URL: peer.url });
    assert.equal(await program.gone(), 4);
    assert.match(program.output(), /answered 403 REFUSED: refused with 403\n$/);
  });

  it('fails with one line for an event of another shape, and for an endless message', async () => {
    for (const [text, message] of [
      ['id: a-1\ndata: {"eventId":1}\n\n', /sent an event that this version does not understand/],
      ['id: a-1\ndata: {"eventId\n\n', /sent an event that this version does not understand/],
    ] as const) {
      const peer = await startEventServer((_, response) => void response.write(openingText(0) + text));
      const program = tail([], { COUNTERSIGN_URL: peer.url });
      assert.equal(await program.gone(), 1);
      assert.match(program.output(), message);
    }
    const peer = await startEventServer((number, response) => {
      response.write(openingText(number));
      if (number === 0) response.write(`data: ${'x'.repeat(5_000_000)}`);
      else response.write(messageText(1));
    });
    const program = tail([], { COUNTERSIGN_URL: peer.url });
    await untilPrinted(program, /number=1/);
    program.kill('SIGINT');
    assert.equal(await program.gone(), 0);
  });
});
