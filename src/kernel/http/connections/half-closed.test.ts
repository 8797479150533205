/** Clients that shut their sending side down and still read, as `nc -N` does. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Type from 'typebox';
import { routeAt, startHttp } from '../../../../test/support/bare-http.ts';
import { until } from '../../../../test/support/programs.ts';
import type { HttpDeps } from '../server.ts';

let reached = 0;
let release = () => {};
let released = Promise.resolve();
beforeEach(() => {
  reached = 0;
  released = new Promise((resolve) => (release = resolve));
});

const routes = [
  routeAt('POST', '/held', Type.Object({}), async () => {
    reached += 1;
    await released;
    return {};
  }),
  routeAt('GET', '/long', Type.Object({ text: Type.String() }), () => ({ text: 'x'.repeat(40_000_000) })),
];

async function start(config: Partial<HttpDeps['config']> = {}) {
  const http = await startHttp(routes, config);
  const { port } = new URL(await http.server.listen({ host: '127.0.0.1', port: 0 }));
  const open = () =>
    new Promise<number>((done) => http.server.server.getConnections((_, count) => done(count)));
  /** The last that the client says; it closes its side, and leaves the other to the server. */
  const say = (bytes: string) => {
    const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
    after(() => socket.destroy());
    socket.on('error', () => {});
    socket.end(bytes);
    return socket;
  };
  /** What it hears before the server closes. */
  const hear = async (bytes: string) => {
    let heard = '';
    const socket = say(bytes).on('data', (chunk) => (heard += chunk));
    await once(socket, 'close');
    return heard;
  };
  return { http, open, say, hear };
}

const held = 'POST /held HTTP/1.1\r\nHost: a\r\n\r\n';

describe('a client that has shut its sending side down', () => {
  it('is answered, however long that takes, and then closed', async () => {
    const { hear, open } = await start();
    const answer = hear(held);
    await until('it is asked', async () => reached === 1 || undefined);
    // Time for the end of what it says to arrive.
    await sleep(200);
    release();
    assert.match(await answer, /^HTTP\/1.1 200 [\s\S]*\r\n\r\n\{\}$/);
    await until('it is gone', async () => (await open()) === 0 || undefined);
  });

  it('is answered all that it has asked', async () => {
    const { hear } = await start();
    const answers = hear(held.repeat(3));
    await until('it is asked', async () => reached >= 1 || undefined);
    release();
    assert.deepEqual((await answers).match(/HTTP\/1.1 \d+/g), Array(3).fill('HTTP/1.1 200'));
    assert.equal(reached, 3);
  });

  it('is refused at once when what it has asked is not whole, and closed when it has asked nothing', async () => {
    const { hear, open } = await start();
    assert.equal(await hear(''), '');
    for (const half of [
      'POST /held HTTP/1.1\r\nHos',
      'POST /held HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
      'POST /held HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n',
    ])
      assert.deepEqual((await hear(half)).match(/HTTP\/1.1 \d+/g), ['HTTP/1.1 400'], half);
    assert.equal(reached, 0);
    await until('all are gone', async () => (await open()) === 0 || undefined);
  });

  it('is let go of when it does not read its answer either', async () => {
    const { say, open } = await start({ idleTimeoutMs: 500 });
    say('GET /long HTTP/1.1\r\nHost: a\r\n\r\n').pause();
    await until('it is connected', async () => (await open()) === 1 || undefined);
    await until('it is gone', async () => (await open()) === 0 || undefined);
  });

  it('is answered while the server closes, and does not hold that up', async () => {
    const { http, hear } = await start({ closeDelayMs: 100 });
    const answer = hear(held);
    await until('it is asked', async () => reached === 1 || undefined);
    // Longer than a test may take.
    const closed = http.close(600_000);
    await sleep(500);
    release();
    assert.match(await answer, /^HTTP\/1.1 200 /);
    await closed;
  });

  it('is cut when its answer takes longer than closing may', async () => {
    const { http, hear } = await start({ closeDelayMs: 100 });
    const answer = hear(held);
    await until('it is asked', async () => reached === 1 || undefined);
    await http.close(200);
    assert.equal(await answer, '');
    release();
  });
});
