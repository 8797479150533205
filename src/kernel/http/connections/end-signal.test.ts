import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startHttp } from '../../../../test/support/bare-http.ts';
import { until } from '../../../../test/support/programs.ts';
import Type from '../../../contract/json-schema.ts';
import { open, rootRoute } from '../route.ts';
import type { HttpDeps } from '../server.ts';

/** A response that stays open: chunks of this size as fast as the client reads, or a single one. */
async function start(chunkLength: number, config: Partial<HttpDeps['config']> = {}) {
  const signals: AbortSignal[] = [];
  let written = 0;
  async function* chunks(ended: AbortSignal) {
    yield 'opening\n';
    while (!ended.aborted) {
      if (chunkLength === 0) await once(ended, 'abort');
      else {
        written += chunkLength;
        yield 'x'.repeat(chunkLength);
        await sleep(0);
      }
    }
    yield 'end\n';
  }
  const route = rootRoute({
    id: 'stream',
    summary: 'stream',
    tag: 'Test',
    method: 'GET',
    url: '/stream',
    access: open(),
    limit: 'caller',
    produces: 'text/plain',
    longLived: true,
    schema: { response: { 200: Type.String() } },
    handler({ endSignal }) {
      const ended = endSignal();
      signals.push(ended);
      return chunks(ended);
    },
  });
  const http = await startHttp([route], config);
  const { port } = new URL(await http.server.listen({ host: '127.0.0.1', port: 0 }));
  const ask = async (version = '1.1') => {
    const socket = connect({ port: Number(port), host: '127.0.0.1' });
    after(() => socket.destroy());
    socket.on('error', () => {});
    socket.write(`GET /stream HTTP/${version}\r\nHost: a\r\n\r\n`);
    await until('the request is handled', async () => signals.length > 0 || undefined);
    return socket;
  };
  return { http, ask, signals, written: () => written };
}

describe('a response that stays open', () => {
  it('ends completely when the server closes, also on a connection that would be kept alive', async () => {
    const { http, ask } = await start(0);
    const socket = await ask();
    let received = '';
    socket.on('data', (chunk) => (received += chunk));
    await until('the opening', async () => received.includes('opening') || undefined);
    const started = performance.now();
    await http.close();
    assert.ok(performance.now() - started < 5_000);
    // The last chunk, and the end of the chunks.
    assert.match(received, /end\n\r\n0\r\n\r\n$/);
  });

  it('is aborted at once when the client closes the connection, and nothing more is written', async () => {
    const { ask, signals } = await start(0);
    (await ask()).end();
    await until('the signal', async () => signals[0]?.aborted || undefined, undefined, 10_000);
  });

  it('is cut off when its client reads nothing', async () => {
    const { ask, signals, written } = await start(32_768, { unread: { stallMs: 1_000 } });
    const socket = (await ask()).pause();
    await until('the signal', async () => signals[0]?.aborted || undefined, undefined, 60_000);
    assert.ok(written() < 64 * 1024 * 1024, `${written()} bytes`);
    socket.destroy();
  });

  it('does not delay the shutdown when its client reads nothing', async () => {
    const { http, ask, written } = await start(32_768);
    (await ask()).pause();
    let before = -1;
    await until('the client stalls', async () => {
      if (written() === before) return true;
      before = written();
      await sleep(300);
      return undefined;
    });
    const started = performance.now();
    await http.close();
    assert.ok(performance.now() - started < 8_000);
  });
});
