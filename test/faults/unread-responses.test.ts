/** Clients that do not read their responses: the server's memory stays bounded and other clients are served. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import { createDatabase, environment, newAgent } from '../support/harness.ts';
import { authorize, makeOperator, startServe, until } from '../support/programs.ts';

const mebibyte = 1024 * 1024;

const env = environment(await createDatabase());
const { url, port } = await startServe(env, [], { unread: { stallMs: 4_000 } });
const headers = await authorize(url, await makeOperator(env));

/** A process metric, such as resident memory. */
async function figure(name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

const residentMiB = async () => (await figure('process_resident_memory_bytes')) / mebibyte;

async function ask(path: string, times: number): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1' });
  after(() => socket.destroy());
  socket.on('error', () => {}).pause();
  await once(socket, 'connect');
  const fields = `Host: a\r\nAuthorization: ${headers.authorization}\r\n`;
  socket.write(`GET ${path} HTTP/1.1\r\n${fields}\r\n`.repeat(times));
  return socket;
}

/** Peak memory growth while clients leave responses unread; waits until the server disconnects them. */
async function hold(path: string, clients: number, times: number): Promise<{ grownMiB: number }> {
  // One request first, so that lazily loaded data does not count.
  assert.equal((await (await fetch(url + path, { headers })).text()).length > 0, true);
  const files = await figure('process_open_fds');
  const before = await residentMiB();
  let most = before;
  const look = async () => {
    most = Math.max(most, await residentMiB());
    // Other clients are still served.
    assert.equal((await fetch(`${url}/.well-known/jwks.json`)).status, 200);
  };
  for (let asked = 0; asked < clients; asked += 1) {
    await ask(path, times);
    if (asked % 10 === 9) await look();
  }
  await until('they are disconnected', async () => {
    await look();
    return (await figure('process_open_fds')) < files + clients / 10 || undefined;
  });
  return { grownMiB: most - before };
}

describe('clients that do not read', () => {
  test('200 clients of the /docs script share one copy and are disconnected in time', async () => {
    const { grownMiB } = await hold('/docs/js/scalar.js', 200, 1);
    // A copy each would be more than 800 MiB.
    assert.ok(grownMiB < 250, `${grownMiB} MiB more`);
  });

  test('40 clients with 20 pipelined requests each hold one response each', async () => {
    const capabilities = Array.from({ length: 100 }, (_, at) => `${'c'.repeat(120)}:${at}`);
    for (let made = 0; made < 100; made += 1) {
      const body = JSON.stringify(newAgent({ capabilities }));
      const init = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body };
      assert.equal((await fetch(`${url}/api/v1/agents`, init)).status, 201);
    }
    const { grownMiB } = await hold('/api/v1/agents?limit=100', 40, 20);
    // All responses would be 1,000 MiB.
    assert.ok(grownMiB < 250, `${grownMiB} MiB more`);
  });
});
