/** The EventSource of undici: it resumes by itself after the server has ended the stream. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Agent, type Dispatcher, EventSource } from 'undici';
import { createDatabase, environment, newAgent } from '../support/harness.ts';
import {
  authorize,
  freePort,
  makeOperator,
  startCountersign,
  until,
  untilHealthy,
} from '../support/programs.ts';

/** EventSource has no way to set a header. */
const authorized = (authorization: string): Dispatcher =>
  new Agent().compose((dispatch) => (options, handler) => {
    const headers = options.headers as unknown as Record<string, string>;
    return dispatch({ ...options, headers: { ...headers, authorization } }, handler);
  });

test('200: EventSource gets every event once, across a kill and a shutdown of the server', {
  timeout: 180_000,
}, async () => {
  const env = environment(await createDatabase(), { HOST: '127.0.0.1' });
  const operator = await makeOperator(env);
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const start = async (args: string[] = []) => {
    const program = startCountersign(['serve', ...args], { ...env, PORT: String(port) });
    await untilHealthy(port, program);
    return program;
  };
  const createAgent = async (url = base): Promise<string> => {
    const response = await fetch(`${url}/api/v1/agents`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(newAgent()),
    });
    assert.equal(response.status, 201);
    return ((await response.json()) as { agentId: string }).agentId;
  };

  let program = await start();
  const headers = await authorize(base, operator);
  const received: string[] = [];
  const ids = new Set<string>();
  const source = new EventSource(`${base}/api/v1/events`, {
    dispatcher: authorized(headers.authorization),
  } as never);
  after(() => source.close());
  source.addEventListener('agent.created', (event) => {
    const { data, lastEventId } = event as unknown as { data: string; lastEventId: string };
    received.push(JSON.parse(data).agentId);
    ids.add(lastEventId);
  });
  await until('it is open', async () => source.readyState === EventSource.OPEN || undefined);
  const created = [await createAgent()];
  const untilReceived = (what: string) =>
    until(what, async () => (received.length >= created.length ? true : undefined), program, 60_000);
  await untilReceived('the first event');

  // Recorded, and perhaps not yet linked, when the process is killed.
  created.push(await createAgent(), await createAgent());
  program.kill('SIGKILL');
  await program.gone();
  // Events from another node while the client is disconnected.
  const otherPort = await freePort();
  const other = startCountersign(['serve'], { ...env, PORT: String(otherPort) });
  await untilHealthy(otherPort, other);
  created.push(await createAgent(`http://127.0.0.1:${otherPort}`));
  program = await start();
  await untilReceived('the events of the outage');

  const stopped = performance.now();
  program.kill('SIGTERM');
  assert.equal(await program.gone(), 0);
  assert.ok(performance.now() - stopped < 9_000, 'an open stream delays the shutdown');
  created.push(await createAgent(`http://127.0.0.1:${otherPort}`));
  program = await start();
  created.push(await createAgent());
  await untilReceived('the events of the restart');
  assert.deepEqual(received, created);
  assert.equal(ids.size, created.length);
});
