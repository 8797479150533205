/** Push streams (RFC 8935): the request, retries while a receiver fails, refusals, and what a push stream may not reach. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startApp } from '../../../test/support/harness.ts';
import {
  type RequestHandler,
  startReceiver,
  trustTestAuthority,
} from '../../../test/support/peers/receivers.ts';
import { createResourceClient, outcome } from '../../../test/support/scenarios/resources/resources.ts';
import { createSignalClient, pushMethod } from '../../../test/support/scenarios/signals.ts';

trustTestAuthority();
const settings = { WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true', LOG_LEVEL: 'warn' };
const t = await startApp(settings);
const { call, agentIn, tenant } = createResourceClient(t);
const { ssf, create, receiver, read, drain: drainPolls } = createSignalClient(t);
const owner = await tenant();
const sender = await agentIn(owner.organizationId, ['tokens:read', 'webhooks:write']);
const hour = 3_600_000;

const drain = () => t.app.signals.drain();
const tokenOf = (agent: Parameters<typeof t.token>[1]) => t.token(undefined, agent);
/** A receiver, and its stream. `status` is that of the next answers. */
async function pushStream(more: object = {}, handler?: RequestHandler) {
  const state = { status: 202 };
  const accept: RequestHandler = (_, response) => void response.writeHead(state.status).end();
  let handle = accept;
  const peer = await startReceiver((...request) => handle(...request));
  const answer = await create(await tokenOf(sender), {
    delivery: { method: pushMethod, endpoint_url: `${peer.url}/events`, ...more },
  });
  assert.equal(answer.status, 201, answer.text);
  // What is in the stream from the start.
  await drain();
  peer.received.length = 0;
  handle = handler ?? accept;
  return Object.assign(state, { peer, streamId: answer.json.stream_id as string });
}
const suspend = async () => {
  const { agentId } = await agentIn(owner.organizationId, []);
  const answer = await call('PATCH', `/agents/${agentId}`, await tokenOf(owner), { status: 'suspended' });
  assert.equal(answer.status, 200, answer.text);
  return agentId;
};
const dueTimeOf = async (streamId: string): Promise<number> => {
  const [row] = await t.sql<{ due: string }>(
    'select extract(epoch from push_due_at) * 1000 as due from signal_streams where stream_id = $1',
    [streamId],
  );
  return Number(row?.due);
};
const idOf = (set: string): string =>
  JSON.parse(Buffer.from(set.split('.')[1] ?? '', 'base64url').toString()).jti;
const bodies = ({ received }: { received: readonly { body: string }[] }) => received.map(({ body }) => body);
const subjectsOf = (sets: readonly string[]) =>
  Promise.all(sets.map(async (set) => (await read(idOf(set), set, sender.agentId)).sub_id.sub));

describe('a push stream', () => {
  it('posts one security event token per request, with the Authorization header of the receiver', async () => {
    const { peer } = await pushStream({ authorization_header: 'Bearer of the receiver' });
    const agentIds = [await suspend(), await suspend()];
    await drain();
    assert.deepEqual(await subjectsOf(bodies(peer)), agentIds);
    const [{ method, url, headers }] = peer.received as [(typeof peer.received)[0]];
    assert.deepEqual(
      [method, url, headers['content-type'], headers.accept, headers.authorization],
      ['POST', '/events', 'application/secevent+jwt', 'application/json', 'Bearer of the receiver'],
    );
    await drain();
    assert.equal(peer.received.length, 2, 'accepted once');
  });

  it('sends a verification, and nothing while it is paused or disabled', async () => {
    const { peer, streamId: stream_id } = await pushStream();
    const token = await tokenOf(sender);
    const status = (name: string) => ssf('POST', '/status', token, { stream_id, status: name });
    await status('paused');
    const kept = await suspend();
    await drain();
    assert.equal(peer.received.length, 0);
    await status('enabled');
    await drain();
    assert.deepEqual(await subjectsOf(bodies(peer)), [kept]);
    await status('disabled');
    await suspend();
    await status('enabled');
    assert.equal((await ssf('POST', '/verify', token, { stream_id, state: 's' })).status, 204);
    await drain();
    const [, set] = bodies(peer) as [string, string];
    const { type, event } = await read(idOf(set), set, sender.agentId);
    assert.deepEqual([peer.received.length, type, event], [2, 'verification', { state: 's' }]);
  });

  it('repeats with growing pauses while the receiver answers 500, in order, and loses nothing in a day', async () => {
    const stream = await pushStream();
    const { peer } = stream;
    stream.status = 500;
    const [first, second] = [await suspend(), await suspend()];
    const attempt = async () => {
      const { length } = peer.received;
      const from = t.clock.now();
      await drain();
      assert.equal(peer.received.length, length + 1, 'the second waits behind the first');
      return { from, to: t.clock.now() };
    };
    let failed = await attempt();
    for (const seconds of [1, 5, 15, 30, 60, 120, 300, 600, 900, 900]) {
      const dueAt = await dueTimeOf(stream.streamId);
      const pause = seconds * 1_000;
      assert.ok(dueAt >= failed.from + pause && dueAt <= failed.to + pause, `after ${seconds} seconds`);
      // The clock of the test goes on by itself.
      if (seconds >= 15) {
        t.clock.advance((dueAt - t.clock.now()) / 2);
        const { length } = peer.received;
        await drain();
        assert.equal(peer.received.length, length, `before ${seconds} seconds`);
      }
      t.clock.advance(Math.max(0, dueAt - t.clock.now()));
      failed = await attempt();
    }
    t.clock.advance(24 * hour);
    const later = await suspend();
    peer.received.length = 0;
    stream.status = 202;
    await drain();
    assert.deepEqual(await subjectsOf(bodies(peer)), [first, second, later]);
    assert.equal(new Set(bodies(peer).map(idOf)).size, 3);
    const { text } = await t.call('GET', '/metrics');
    assert.match(text, /^service_signal_push_failures_total [1-9]/m);
  });

  it('repeats a request whose receiver hangs, closes the connection, redirects or sends without end', async () => {
    const away = await startReceiver();
    const answers: RequestHandler[] = [
      (_, response) => void response.destroy(),
      (_, response) => void response.writeHead(302, { location: `${away.url}/` }).end(),
      (_, response) => void response.writeHead(404).end('x'.repeat(1_000_000)),
      (_, response) => void response.writeHead(202).end('x'.repeat(1_000_000)),
    ];
    const { peer } = await pushStream({}, (...request) => answers.shift()?.(...request));
    const agentId = await suspend();
    for (let attempt = 0; attempt < 4; attempt += 1) {
      await drain();
      t.clock.advance(hour);
    }
    await drain();
    assert.deepEqual(await subjectsOf(bodies(peer)), [agentId, agentId, agentId, agentId]);
    assert.equal(new Set(bodies(peer).map(idOf)).size, 1, 'the same id each time');
    assert.equal(away.received.length, 0, 'redirects are not followed');
  });

  it('400: that signal comes again later, and does not hold up the others (RFC 8935 §2.4)', async () => {
    let refused = '';
    const { peer } = await pushStream({}, ({ body }, response) => {
      const isRefused = idOf(body) === refused;
      response.writeHead(isRefused ? 400 : 202, { 'content-type': 'application/json' });
      response.end(
        isRefused ? JSON.stringify({ err: 'invalid_key', description: 'unknown key' }) : undefined,
      );
    });
    const own = await receiver(await tokenOf(sender));
    await drainPolls(own);
    const [first, second] = [await suspend(), await suspend()];
    refused = (await drainPolls(own))[0]?.jti ?? assert.fail();
    await drain();
    assert.deepEqual(await subjectsOf(bodies(peer)), [first, second]);
    const line = t.logs.findLast((text) => text.includes('signal not accepted'));
    assert.match(line ?? '', /invalid_key/);
    refused = '';
    t.clock.advance(2_000);
    await drain();
    assert.deepEqual(await subjectsOf(bodies(peer)), [first, second, first]);
  });

  it('does not delay others: a receiver that hangs, beside one that answers', async () => {
    let end = () => {};
    const hanging = await pushStream({}, (_, response) => {
      end = () => void response.writeHead(202).end();
    });
    const { peer } = await pushStream();
    await suspend();
    const drained = drain();
    const count = () => Math.min(peer.received.length, hanging.peer.received.length);
    for (let waited = 0; count() === 0; waited += 20) {
      assert.ok(waited < 8_000, 'it waits for the other receiver');
      await sleep(20);
    }
    assert.equal(hanging.peer.received.length, 1);
    end();
    await drained;
    await ssf('DELETE', `/stream?stream_id=${hanging.streamId}`, await tokenOf(sender));
  });

  it('sends nothing more after its agent is suspended, and goes on after it is active again', async () => {
    const agent = await agentIn(owner.organizationId, ['tokens:read', 'webhooks:write']);
    const peer = await startReceiver((_, response) => void response.writeHead(202).end());
    const delivery = { method: pushMethod, endpoint_url: peer.url };
    assert.equal((await create(agent.token, { delivery })).status, 201);
    await drain();
    peer.received.length = 0;
    const setStatus = async (status: string) =>
      call('PATCH', `/agents/${agent.agentId}`, await tokenOf(owner), { status });
    await setStatus('suspended');
    await drain();
    assert.equal(peer.received.length, 0);
    await setStatus('active');
    await drain();
    assert.equal(peer.received.length, 1);
  });

  it('survives a worker that dies between sending and saving: it comes again with the same id', async () => {
    const { peer, streamId } = await pushStream();
    await suspend();
    // As a worker leaves it that was killed: leased, and the signal still in the queue.
    await t.sql(
      `update signal_streams set push_lease = gen_random_uuid(), push_due_at = $2::timestamptz + interval '1 minute'
       where stream_id = $1`,
      [streamId, new Date(t.clock.now()).toISOString()],
    );
    await drain();
    assert.equal(peer.received.length, 0, 'leased');
    t.clock.advance(61_000);
    await drain();
    assert.equal(peer.received.length, 1);
  });

  it('sends nothing more to the old address after a change, also in the turn that runs', async () => {
    const newPeer = await startReceiver((_, response) => void response.writeHead(202).end());
    let change = async () => {};
    const { peer, streamId: stream_id } = await pushStream({}, async (_, response) => {
      await change();
      response.writeHead(202).end();
    });
    const delivery = { method: pushMethod, endpoint_url: `${newPeer.url}/events` };
    change = async () => {
      const { status } = await ssf('PATCH', '/stream', await tokenOf(sender), { stream_id, delivery });
      assert.equal(status, 200);
    };
    const agentIds = [await suspend(), await suspend(), await suspend()];
    await drain();
    const [old, fresh] = await Promise.all([subjectsOf(bodies(peer)), subjectsOf(bodies(newPeer))]);
    assert.deepEqual(old, agentIds.slice(0, 1));
    assert.deepEqual(
      fresh.filter((id) => id !== agentIds[0]),
      agentIds.slice(1),
    );
  });

  it('of two nodes that push at once, one sends', async () => {
    const other = await startApp(settings, t);
    const { peer } = await pushStream();
    const count = 5;
    for (let index = 0; index < count; index += 1) await suspend();
    await Promise.all([drain(), other.app.signals.drain()]);
    assert.deepEqual([bodies(peer).length, new Set(bodies(peer).map(idOf)).size], [count, count]);
  });
});

describe('a push stream to an address inside', () => {
  it('gets nothing: the address is checked when connecting, as for webhooks', async () => {
    const guarded = await startApp({}, t);
    const peer = await startReceiver((_, response) => void response.writeHead(202).end());
    for (const host of ['127.0.0.1', '0x7f.1', '[::1]', '[::ffff:127.0.0.1]', 'localhost']) {
      const answer = await create(await tokenOf(sender), {
        delivery: { method: pushMethod, endpoint_url: `https://${host}:${peer.port}/` },
      });
      if (answer.status !== 201) {
        assert.equal(outcome(answer), '400 VALIDATION_ERROR');
        continue;
      }
      await suspend();
      await guarded.app.signals.drain();
      const deleted = await ssf(
        'DELETE',
        `/stream?stream_id=${answer.json.stream_id}`,
        await tokenOf(sender),
      );
      assert.equal(deleted.status, 204);
    }
    assert.equal(peer.connections(), 0);
  });
});
