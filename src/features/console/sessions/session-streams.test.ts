/** GET /events with a session instead of a token. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openStream, refusedStream } from '../../../../test/support/clients/event-stream.ts';
import { newAgent } from '../../../../test/support/harness.ts';
import {
  createConsoleClient,
  sessionUrl,
  startConsoleApp,
} from '../../../../test/support/scenarios/console.ts';

const t = await startConsoleApp();
t.app.loops.start();
const web = createConsoleClient(t);
const minute = 60_000;
/** The client asks for /api/v1/events below it. */
const base = `${await t.app.http.server.listen({ host: '127.0.0.1', port: 0 })}/console`;
const streamOf = (cookie: string) => openStream(base, '', { headers: { cookie } });

describe('GET /console/api/v1/events', () => {
  it('200 with the events of the organization, and ends within seconds after the session has ended', async () => {
    const cookie = await web.cookieOf(t.operator);
    const stream = await streamOf(cookie);
    assert.equal(stream.response.headers['content-type'], 'text/event-stream');
    const created = await web.call(cookie, 'POST', '/agents', newAgent());
    await stream.message('the agent', ({ data }) => data?.includes(created.json.agentId) === true);
    await web.call(cookie, 'DELETE', sessionUrl);
    assert.equal(await stream.ended(), true);
    assert.equal((await refusedStream(base, undefined, { headers: { cookie } })).answer, '401 UNAUTHORIZED');
  });

  it('an open stream is no use: the session ends after 30 minutes, and the stream with it', async () => {
    const cookie = await web.cookieOf(t.operator);
    const stream = await streamOf(cookie);
    t.clock.advance(20 * minute);
    // The server checks open streams every five seconds.
    await sleep(6_000);
    t.clock.advance(11 * minute);
    assert.equal(await stream.ended(), true);
    assert.equal((await web.call(cookie, 'GET', sessionUrl)).status, 401);
  });

  it('401 UNAUTHORIZED with a token', async () => {
    assert.equal((await refusedStream(base, await t.token())).answer, '401 UNAUTHORIZED');
  });
});
