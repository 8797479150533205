/** `close` behind a proxy without readiness checks: no request is lost that the proxy has sent before it could know of the end. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { after, it } from 'node:test';
import { routeAt, startHttp } from '../../../../test/support/bare-http.ts';
import Type from '../../../contract/json-schema.ts';

const probe = routeAt('POST', '/probe', Type.Object({}), () => ({}));

it('200 for the requests of connections that wait in the queues of the kernel', async () => {
  const http = await startHttp([probe]);
  await http.listen({ host: '127.0.0.1', port: 0 });
  const { port } = http.server.server.address() as AddressInfo;
  const answers = Array.from({ length: 40 }, async () => {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    after(() => socket.destroy());
    socket.write('POST /probe HTTP/1.1\r\nHost: a\r\n\r\n');
    return String((await once(socket, 'data'))[0]);
  });
  // The connections are made now, and accepted in the next turns of the event loop.
  await new Promise((made) => process.nextTick(made));
  const closed = http.close();
  for (const answer of await Promise.all(answers)) assert.match(answer, /^HTTP\/1.1 200 /);
  await closed;
});
