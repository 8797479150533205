/** Polls of receivers (RFC 8936): waiting, acknowledging, bounds; what is kept for a receiver that is down, and for how long. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { startApp } from '../../../test/support/harness.ts';
import { until } from '../../../test/support/programs.ts';
import { createResourceClient, outcome } from '../../../test/support/scenarios/resources/resources.ts';
import { createSignalClient } from '../../../test/support/scenarios/signals.ts';

const issuer = 'http://countersign.test';
// A small pool: polls that wait must hold no connection, and no place of a write.
const t = await startApp({ DATABASE_POOL_SIZE: '4' });
t.app.loops.start();
const { call, agentIn, tenant } = createResourceClient(t);
const { ssf, receiver, poll, pollRaw, drain } = createSignalClient(t);
const owner = await tenant();
const home = owner.organizationId;
const api = await agentIn(home, ['tokens:read']);
const day = 86_400_000;

const suspend = async (by = owner) => {
  const { agentId } = await agentIn(by.organizationId, []);
  const answer = await call('PATCH', `/agents/${agentId}`, await t.token(undefined, by), {
    status: 'suspended',
  });
  assert.equal(answer.status, 200, answer.text);
  return agentId;
};
const subjects = (found: readonly { sub_id: Readonly<Record<string, unknown>> }[]) =>
  found.map(({ sub_id }) => sub_id.sub);

describe('POST /ssf/poll/{streamId}', () => {
  it('200: an open poll answers when an agent ends', async () => {
    const own = await receiver(api.token);
    await drain(own);
    const waiting = poll(own, {});
    const agentId = await suspend();
    assert.deepEqual(subjects(await waiting), [agentId]);
  });

  it('404 SIGNAL_STREAM_NOT_FOUND for an open poll whose stream is deleted', async () => {
    const own = await receiver(api.token);
    await drain(own);
    const waiting = pollRaw(own, {});
    await until('it waits', async () => t.app.signals.polls.streamIds().includes(own.streamId) || undefined);
    assert.equal((await ssf('DELETE', `/stream?stream_id=${own.streamId}`, own.token)).status, 204);
    assert.equal(outcome(await waiting), '404 SIGNAL_STREAM_NOT_FOUND');
  });

  it('200: a fresh stream has the signals that can still matter; they come again until they are acknowledged', async () => {
    const first = await suspend();
    const own = await receiver(api.token);
    assert.ok(subjects(await poll(own)).includes(first));
    const again = await poll(own);
    assert.ok(subjects(again).includes(first));
    const unknown = [crypto.randomUUID(), 'no id at all'];
    const [{ jti }] = again as [(typeof again)[0]];
    const rest = await poll(own, { returnImmediately: true, ack: [jti, ...unknown] });
    assert.deepEqual(
      rest.map((each) => each.jti),
      again.slice(1).map((each) => each.jti),
    );
    const errs = Object.fromEntries(rest.map((each) => [each.jti, { err: 'invalid_key' }]));
    assert.deepEqual(await poll(own, { returnImmediately: true, setErrs: errs }), []);
  });

  it('200: maxEvents bounds the answer, and moreAvailable says that there are more; with 0 the answer has none', async () => {
    const own = await receiver(api.token);
    await drain(own);
    const ended = [await suspend(), await suspend(), await suspend()];
    const { json } = await pollRaw(own, { maxEvents: 2 });
    assert.deepEqual([Object.keys(json.sets).length, json.moreAvailable], [2, true]);
    const ack = Object.keys(json.sets);
    assert.deepEqual((await pollRaw(own, { maxEvents: 0, ack })).json, { sets: {}, moreAvailable: true });
    const [{ jti }, ...others] = (await poll(own)) as [Awaited<ReturnType<typeof poll>>[0]];
    assert.equal(others.length, 0);
    assert.deepEqual(subjects(await poll(own)), ended.slice(2));
    assert.deepEqual((await pollRaw(own, { maxEvents: 0, ack: [jti] })).json, {
      sets: {},
      moreAvailable: false,
    });
  });

  it('200: a newer poll of the stream ends the older one with an empty answer', async () => {
    const own = await receiver(api.token);
    await drain(own);
    const older = pollRaw(own, {});
    await until('it waits', async () => t.app.signals.polls.streamIds().includes(own.streamId) || undefined);
    const newer = pollRaw(own, {});
    assert.deepEqual((await older).json, { sets: {}, moreAvailable: false });
    await suspend();
    assert.equal(Object.keys((await newer).json.sets).length, 1);
  });

  it('200: in capital letters the id is that of the same stream: one poll waits, and a signal wakes it', async () => {
    const own = await receiver(api.token);
    await drain(own);
    const older = pollRaw({ ...own, streamId: own.streamId.toUpperCase() }, {});
    const isOpen = () => t.app.signals.polls.streamIds().includes(own.streamId) || undefined;
    await until('it waits', async () => isOpen());
    const newer = pollRaw(own, {});
    assert.deepEqual((await older).json, { sets: {}, moreAvailable: false });
    await suspend();
    assert.equal(Object.keys((await newer).json.sets).length, 1);
  });

  it('401 UNAUTHORIZED for a poll whose token ends while it waits: the receiver learns nothing more', async () => {
    const other = await agentIn(home, ['tokens:read']);
    const own = await receiver(other.token);
    await drain(own);
    const waiting = pollRaw(own, {});
    const revoked = await t.form('/api/v1/token/revoke', { token: other.token }, owner.token);
    assert.equal(revoked.status, 200, revoked.text);
    const answer = await waiting;
    assert.deepEqual([answer.status, answer.json.code], [401, 'UNAUTHORIZED']);
  });

  it('404 SIGNAL_STREAM_NOT_FOUND for the stream of another agent, another organization, and none', async () => {
    const own = await receiver(api.token);
    const sibling = await agentIn(home, ['tokens:read']);
    const foreign = await tenant();
    for (const token of [sibling.token, foreign.token]) {
      const answer = await pollRaw({ ...own, token });
      assert.deepEqual([answer.status, answer.json.code], [404, 'SIGNAL_STREAM_NOT_FOUND']);
    }
    const none = await ssf('POST', `/poll/${crypto.randomUUID()}`, api.token, {});
    assert.equal(none.status, 404);
    assert.equal(
      (await pollRaw({ ...own, token: (await agentIn(home, ['agents:read'])).token })).status,
      403,
    );
  });
});

describe('a poll that waits', () => {
  it('200: holds neither a connection nor a place of a write: many polls of an organization do not delay its changes', async () => {
    const tenantOfPolls = await tenant();
    const polling = await agentIn(tenantOfPolls.organizationId, ['tokens:read']);
    const receivers = await Promise.all(Array.from({ length: 20 }, () => receiver(polling.token)));
    for (const own of receivers) await drain(own);
    const waiting = receivers.map((own) => pollRaw(own, {}));
    const startedAt = performance.now();
    await suspend(tenantOfPolls);
    // A poll that finds nothing ends after 25 seconds: the change has not waited for that.
    for (const { json } of await Promise.all(waiting)) assert.equal(Object.keys(json.sets).length, 1);
    assert.ok(performance.now() - startedAt < 20_000);
  });

  it('200: polls count in a window of their own, of 1,200 a minute', async () => {
    const limited = await startApp({ RATE_LIMIT_PER_MINUTE: '20' }, t);
    const client = createSignalClient(limited);
    const own = await client.receiver((await agentIn(home, ['tokens:read'])).token);
    for (let count = 0; count < 60; count += 1)
      assert.equal((await client.pollRaw(own, { maxEvents: 0 })).status, 200);
    const headers = (await client.pollRaw(own, { maxEvents: 0 })).headers;
    assert.equal(headers['x-ratelimit-limit'], '1200');
  });
});

describe('a poll of a hostile receiver', () => {
  it('200: acknowledging what it never got, what another stream has, or the same twice removes nothing else', async () => {
    const [own, other] = [await receiver(api.token), await receiver(api.token)];
    await drain(own);
    await drain(other);
    await suspend();
    const [{ jti }] = (await poll(other)) as [Awaited<ReturnType<typeof poll>>[0]];
    const [mine] = (await poll(own)) as [Awaited<ReturnType<typeof poll>>[0]];
    assert.equal(mine.jti, jti, 'streams of one organization have the same signal');
    assert.deepEqual(await poll(own, { returnImmediately: true, ack: [jti, jti] }), []);
    assert.equal((await poll(other)).length, 1);
    for (const ack of [[crypto.randomUUID()], ['', 'x', "'; delete from signals; --"], [own.streamId]])
      assert.equal((await pollRaw(other, { returnImmediately: true, ack })).status, 200);
    assert.equal((await poll(other)).length, 1);
    assert.equal((await drain(other)).length, 1);
  });

  const bodies: readonly [string, object | string][] = [
    ['maxEvents below 0', { maxEvents: -1 }],
    ['maxEvents above 500', { maxEvents: 501 }],
    ['maxEvents that is no integer', { maxEvents: 1.5 }],
    ['maxEvents as text', { maxEvents: '1' }],
    ['returnImmediately as text', { returnImmediately: 'true' }],
    ['ack that is no list', { ack: 'x' }],
    ['ack of numbers', { ack: [1] }],
    ['more than 1,000 ids', { ack: Array.from({ length: 1_001 }, (_, index) => String(index)) }],
    ['NUL', { ack: ['\u0000'] }],
    ['an id that is too long', { ack: ['x'.repeat(129)] }],
    ['setErrs that is a list', { setErrs: [] }],
    ['setErrs without err', { setErrs: { x: { description: 'y' } } }],
    ['setErrs with a long description', { setErrs: { x: { err: 'e', description: 'x'.repeat(1_025) } } }],
    ['another field', { since: 0 }],
    ['a list', []],
    ['null', 'null'],
    ['deep JSON', `${'['.repeat(5_000)}${']'.repeat(5_000)}`],
    ['__proto__', '{"__proto__": {"maxEvents": 1}}'],
    ['no JSON', '{"ack": ['],
  ];
  for (const [what, body] of bodies)
    it(`4xx, and nothing is removed: ${what}`, async () => {
      const own = await receiver(api.token);
      const { length } = await poll(own, { returnImmediately: true, maxEvents: 500 });
      const payload = typeof body === 'string' ? body : JSON.stringify(body);
      const answer = await t.call('POST', `/api/v1/ssf/poll/${own.streamId}`, {
        token: api.token,
        payload,
        headers: { 'content-type': 'application/json' },
      });
      assert.ok(answer.status >= 400 && answer.status < 500, answer.text);
      assert.ok(answer.json.code, answer.text);
      assert.equal((await poll(own, { returnImmediately: true, maxEvents: 500 })).length, length);
      assert.equal((await ssf('DELETE', `/stream?stream_id=${own.streamId}`, api.token)).status, 204);
    });

  it('200 without a body: the defaults; 400 for an id of a stream that is none; 405 for GET', async () => {
    const own = await receiver(api.token);
    await drain(own);
    await suspend();
    const answer = await t.call('POST', `/api/v1/ssf/poll/${own.streamId}`, { token: api.token });
    assert.equal(Object.keys(answer.json.sets).length, 1, answer.text);
    assert.equal(answer.headers['cache-control'], 'no-store');
    assert.equal(outcome(await ssf('POST', '/poll/x', api.token, {})), '400 VALIDATION_ERROR');
    assert.equal(outcome(await ssf('GET', `/poll/${own.streamId}`, api.token)), '405 METHOD_NOT_ALLOWED');
  });
});

describe('a security event token', () => {
  it('has typ, kid, iss, iat, jti, aud, sub_id and one event, and neither exp nor sub (SSF §4, §10)', async () => {
    const own = await receiver(api.token);
    await drain(own);
    await suspend();
    const { json } = await pollRaw(own, { returnImmediately: true });
    const [[jti, set]] = Object.entries(json.sets) as [[string, string]];
    const { typ, alg, kid, ...header } = decodeProtectedHeader(set);
    const { keys } = (await t.call('GET', '/.well-known/jwks.json')).json;
    assert.deepEqual([typ, kid, header], ['secevent+jwt', keys[0].kid, {}]);
    assert.equal(alg, keys[0].alg);
    const { payload } = await jwtVerify(set, createLocalJWKSet({ keys }));
    assert.deepEqual(Object.keys(payload).sort(), ['aud', 'events', 'iat', 'iss', 'jti', 'sub_id']);
    assert.deepEqual([payload.iss, payload.aud, payload.jti], [issuer, api.agentId, jti]);
    assert.equal(Object.keys(payload.events as object).length, 1);
    // It opens nothing.
    assert.equal((await ssf('GET', '/stream', set)).status, 401);
    const introspected = await t.form('/api/v1/token/introspect', { token: set }, api.token);
    assert.deepEqual(introspected.json, { active: false });
  });
});

describe('a receiver that is down', () => {
  it('for a day: nothing is lost; an SDK-like stream that is gone begins anew with what still matters', async () => {
    const own = await receiver(api.token);
    const short = await receiver(api.token, { inactivity_timeout: 600 });
    await drain(own);
    await drain(short);
    const before = await suspend();
    t.clock.advance(day);
    await runPurges();
    const token = await t.token(undefined, api);
    assert.ok(subjects(await poll({ ...own, token })).includes(before));
    assert.equal(outcome(await pollRaw({ ...short, token })), '404 SIGNAL_STREAM_NOT_FOUND');
    const recent = await suspend();
    const fresh = subjects(await drain(await receiver(token)));
    assert.ok(fresh.includes(recent) && !fresh.includes(before), 'a token from before has expired');
  });

  it('longer than its stream is kept: the stream is deleted, recorded, with its queue; any use of it counts as one', async () => {
    const token = () => t.token(undefined, api);
    const [idle, read, asked] = await Promise.all(
      [1, 2, 3].map(async () => receiver(await token(), { inactivity_timeout: 600 })),
    );
    assert.ok(idle && read && asked);
    await suspend();
    for (const _ of [1, 2, 3]) {
      t.clock.advance(400_000);
      assert.equal((await ssf('GET', `/stream?stream_id=${read.streamId}`, await token())).status, 200);
      await ssf('POST', '/subjects/add', await token(), {
        stream_id: asked.streamId,
        subject: { format: 'opaque', id: 'x' },
      });
      await runPurges();
    }
    assert.equal(outcome(await pollRaw({ ...idle, token: await token() })), '404 SIGNAL_STREAM_NOT_FOUND');
    for (const own of [read, asked])
      assert.equal((await pollRaw({ ...own, token: await token() }, { maxEvents: 0 })).status, 200);
    const [event] = await t.sql<{ metadata: { reason: string } }>(
      "select metadata from audit_events where action = 'signal_stream.deleted' and metadata ->> 'streamId' = $1",
      [idle.streamId],
    );
    assert.equal(event?.metadata.reason, 'inactive');
    assert.deepEqual(
      await t.sql('select 1 from signal_deliveries where stream_id = $1', [idle.streamId]),
      [],
    );
  });

  it('longer than seven days: its signals leave, and no table keeps growing', async () => {
    const token = () => t.token(undefined, api);
    const own = await receiver(await token(), { inactivity_timeout: 604_800 });
    await suspend();
    for (let days = 0; days < 6; days += 1) {
      t.clock.advance(day);
      await ssf('GET', `/stream?stream_id=${own.streamId}`, await token());
      await runPurges();
    }
    assert.ok((await poll({ ...own, token: await token() })).length > 0);
    t.clock.advance(2 * day);
    await ssf('GET', `/stream?stream_id=${own.streamId}`, await token());
    await runPurges();
    assert.deepEqual(await poll({ ...own, token: await token() }), []);
    assert.deepEqual(await t.sql('select 1 from signals union all select 1 from signal_deliveries'), []);
  });

  it('with queues of streams that are gone: they are deleted, and no other', async () => {
    const own = await receiver(await t.token(undefined, api));
    await drain(own);
    const kept = await suspend();
    // As when a signal was queued while its stream was deleted.
    await t.sql(
      `insert into signal_deliveries (stream_id, signal_id, queued_at, due_at)
       select stream_id, gen_random_uuid(), now.now, now.now
       from (select gen_random_uuid() as stream_id from generate_series(1, 20)) as gone, generate_series(1, 3),
            (select $1::timestamptz as now) as now`,
      [new Date(t.clock.now()).toISOString()],
    );
    await runPurges();
    const left = await t.sql<{ streamId: string | null }>(
      `select distinct s.stream_id as "streamId" from signal_deliveries d left join signal_streams s using (stream_id)`,
    );
    assert.ok(left.length > 0 && left.every(({ streamId }) => streamId !== null));
    assert.deepEqual(subjects(await drain(own)), [kept]);
  });

  it('with the streams of a decommissioned agent: they are deleted', async () => {
    const gone = await agentIn(home, ['tokens:read']);
    const own = await receiver(gone.token);
    assert.equal((await call('DELETE', `/agents/${gone.agentId}`, await t.token())).status, 204);
    await runPurges();
    assert.deepEqual(await t.sql('select 1 from signal_streams where stream_id = $1', [own.streamId]), []);
  });
});

/** One round of the background loops, of another node. */
async function runPurges(): Promise<void> {
  const node = await startApp({}, t);
  node.app.loops.start();
  await until('one round', async () => {
    const { text } = await node.call('GET', '/metrics');
    return ['signals-inactive', 'signals-purge'].every((loop) =>
      new RegExp(`^service_loop_rounds_total\\{[^}]*"${loop}"[^}]*"ok"[^}]*\\} [1-9]`, 'm').test(text),
    )
      ? true
      : undefined;
  });
  await node.app.loops.stop();
}
