/** Discovery, and the management of streams (SSF §7 and §8): each route, each refusal, and which streams a caller has. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../../test/support/harness.ts';
import { createDelegationClient } from '../../../test/support/scenarios/delegations.ts';
import { createResourceClient, outcome } from '../../../test/support/scenarios/resources/resources.ts';
import { createSignalClient, pollMethod, pushMethod } from '../../../test/support/scenarios/signals.ts';

const issuer = 'http://countersign.test';
const t = await startApp();
const { call, agentIn, tenant } = createResourceClient(t);
const { createDelegation, redeem } = createDelegationClient(t);
const { ssf, create, receiver, poll, pollRaw, drain } = createSignalClient(t);
const owner = await tenant();
const home = owner.organizationId;
const api = await agentIn(home, ['tokens:read']);
const sender = await agentIn(home, ['tokens:read', 'webhooks:write']);
const foreign = await tenant();

const caep = (name: string) => `https://schemas.openid.net/secevent/caep/event-type/${name}`;
const supported = ['session-revoked', 'credential-change', 'token-claims-change'].map(caep);
const pushTo = (endpoint_url: string, more: object = {}) => ({
  delivery: { method: pushMethod, endpoint_url, ...more },
});
const created = async (token = api.token, more: object = {}) => {
  const answer = await create(token, more);
  assert.equal(answer.status, 201, answer.text);
  return answer.json;
};
const suspend = async () => {
  const { agentId } = await agentIn(home, []);
  const answer = await call('PATCH', `/agents/${agentId}`, owner.token, { status: 'suspended' });
  assert.equal(answer.status, 200, answer.text);
  return agentId;
};
const events = (streamId: string) =>
  t.sql<{ action: string; agentId: string; metadata: Record<string, unknown> }>(
    `select action, agent_id as "agentId", metadata from audit_events
     where action like 'signal_stream.%' and metadata ->> 'streamId' = $1 order by occurred_at`,
    [streamId],
  );

describe('GET /.well-known/ssf-configuration', () => {
  it('200: exactly what works', async () => {
    const { status, headers, text, json } = await t.call('GET', '/.well-known/ssf-configuration');
    assert.equal(status, 200);
    assert.match(String(headers['content-type']), /^application\/json/);
    assert.deepEqual(json, {
      spec_version: '1_0',
      issuer,
      jwks_uri: `${issuer}/.well-known/jwks.json`,
      delivery_methods_supported: ['urn:ietf:rfc:8935', 'urn:ietf:rfc:8936'],
      configuration_endpoint: `${issuer}/api/v1/ssf/stream`,
      status_endpoint: `${issuer}/api/v1/ssf/status`,
      add_subject_endpoint: `${issuer}/api/v1/ssf/subjects/add`,
      remove_subject_endpoint: `${issuer}/api/v1/ssf/subjects/remove`,
      verification_endpoint: `${issuer}/api/v1/ssf/verify`,
      authorization_schemes: [{ spec_urn: 'urn:ietf:rfc:6749' }],
      default_subjects: 'ALL',
    });
    for (const [, name, address] of text.matchAll(/"(\w+)":"(http[^"]+)"/g))
      if (name !== 'issuer')
        assert.notEqual((await t.call('POST', new URL(address ?? '').pathname)).status, 404, name ?? '');
  });

  it('200: without push where webhooks are off; a push stream is then 403 FORBIDDEN', async () => {
    const other = await startApp({ WEBHOOKS_ENABLED: 'false' }, t);
    const { json } = await other.call('GET', '/.well-known/ssf-configuration');
    assert.deepEqual(json.delivery_methods_supported, ['urn:ietf:rfc:8936']);
    const refused = await createSignalClient(other).create(sender.token, pushTo('https://receiver.example/'));
    assert.equal(outcome(refused), '403 FORBIDDEN');
  });
});

describe('POST /ssf/stream', () => {
  it('201: the stream as SSF has it; tokens:read is enough to poll', async () => {
    const { stream_id, ...stream } = await created(api.token, { description: 'Orders API' });
    assert.match(stream_id, /^[0-9a-f-]{36}$/);
    assert.deepEqual(stream, {
      iss: issuer,
      aud: api.agentId,
      delivery: { method: pollMethod, endpoint_url: `${issuer}/api/v1/ssf/poll/${stream_id}` },
      events_supported: supported,
      events_requested: supported,
      events_delivered: supported,
      description: 'Orders API',
      inactivity_timeout: 172_800,
    });
    const [event, ...others] = await events(stream_id);
    assert.deepEqual(others, []);
    assert.deepEqual(
      [event?.action, event?.agentId, event?.metadata.method],
      ['signal_stream.created', api.agentId, 'poll'],
    );
  });

  it('201: without a delivery the receiver polls (SSF §8.1.1.1)', async () => {
    const answer = await ssf('POST', '/stream', api.token, {});
    assert.equal(answer.status, 201, answer.text);
    assert.equal(answer.json.delivery.method, pollMethod);
  });

  it('201: events that we do not have are ignored; an empty list delivers none', async () => {
    const unknown = 'https://example.com/unknown';
    const some = await created(api.token, { events_requested: [unknown, caep('session-revoked')] });
    assert.deepEqual(some.events_requested, [unknown, caep('session-revoked')]);
    assert.deepEqual(some.events_delivered, [caep('session-revoked')]);
    const none = await receiver(api.token, { events_requested: [] });
    await suspend();
    assert.deepEqual(await drain(none), []);
  });

  it('403 for a push stream without webhooks:write, or with it by delegation only', async () => {
    const refused = await create(api.token, pushTo('https://receiver.example/'));
    assert.equal(outcome(refused), '403 FORBIDDEN');
    assert.match(refused.json.message, /webhooks:write/);
    const [event] = await t.sql<{ metadata: object }>(
      "select metadata from audit_events where action = 'policy.refused' and agent_id = $1",
      [api.agentId],
    );
    assert.ok(event, 'the refusal is recorded');
    const helper = await agentIn(home, []);
    const chain = await createDelegation(sender.token, helper, ['tokens:read', 'webhooks:write']);
    const borrowed = await redeem(helper, chain);
    assert.equal(outcome(await create(borrowed, pushTo('https://receiver.example/'))), '403 FORBIDDEN');
    assert.equal(
      outcome(await create((await agentIn(home, ['webhooks:write'])).token)),
      '403 INSUFFICIENT_SCOPE',
    );
  });

  it('201 for a push stream; its Authorization header is never shown again, and its path not logged', async () => {
    const secret = 'Bearer a-secret';
    const endpoint = 'https://receiver.example/secret-path';
    const answer = await create(sender.token, pushTo(endpoint, { authorization_header: secret }));
    assert.equal(answer.status, 201, answer.text);
    assert.deepEqual(answer.json.delivery, { method: pushMethod, endpoint_url: endpoint });
    assert.equal('inactivity_timeout' in answer.json, false);
    const shown = await ssf('GET', `/stream?stream_id=${answer.json.stream_id}`, sender.token);
    const logged = JSON.stringify(await events(answer.json.stream_id));
    for (const text of [answer.text, shown.text, logged]) assert.ok(!text.includes('a-secret'), text);
    assert.ok(logged.includes('https://receiver.example') && !logged.includes('secret-path'), logged);
  });

  const hostile: readonly [string, object][] = [
    ['another method', { delivery: { method: 'urn:ietf:rfc:9999' } }],
    ['a push stream without an address', { delivery: { method: pushMethod } }],
    ['http', pushTo('http://receiver.example/')],
    ['another scheme', pushTo('file:///etc/passwd')],
    ['credentials in the address', pushTo('https://a:b@receiver.example/')],
    ['a fragment', pushTo('https://receiver.example/#x')],
    ['an address with a line break', pushTo('https://receiver.example/\r\nX: y')],
    [
      'a header with a line break',
      pushTo('https://receiver.example/', { authorization_header: 'a\r\nX: y' }),
    ],
    ['an empty header', pushTo('https://receiver.example/', { authorization_header: '' })],
    ['a header for a poll stream', { delivery: { method: pollMethod, authorization_header: 'x' } }],
    ['an address of a poll stream', { delivery: { method: pollMethod, endpoint_url: 'https://a.example/' } }],
    ['a timeout of a push stream', { ...pushTo('https://receiver.example/'), inactivity_timeout: 3_600 }],
    ['a timeout that is too short', { inactivity_timeout: 59 }],
    ['a timeout that is too long', { inactivity_timeout: 604_801 }],
    ['too many events', { events_requested: Array.from({ length: 51 }, (_, index) => `e:${index}`) }],
    ['an event twice', { events_requested: [supported[0], supported[0]] }],
    ['events that are no text', { events_requested: [1] }],
    ['a description that is too long', { description: 'x'.repeat(256) }],
    ['an audience of its own', { aud: 'https://other.example' }],
    ['another field', { status: 'enabled' }],
    ['another field of the delivery', { delivery: { method: pollMethod, x: 1 } }],
  ];
  for (const [what, body] of hostile)
    it(`400 VALIDATION_ERROR for ${what}`, async () => {
      assert.equal(outcome(await ssf('POST', '/stream', sender.token, body)), '400 VALIDATION_ERROR');
    });

  it('400 VALIDATION_ERROR says what an Authorization header must be', async () => {
    const body = pushTo('https://receiver.example/', { authorization_header: 'Bearer é' });
    const { json } = await ssf('POST', '/stream', sender.token, body);
    assert.equal(
      json.message,
      'delivery.authorization_header must be the value of the Authorization header that we send, in printable ASCII',
    );
  });

  it('403 SIGNAL_STREAM_LIMIT_EXCEEDED above 50 streams of an agent; of many at once exactly 50 succeed', async () => {
    const { token } = await agentIn(home, ['tokens:read']);
    const answers = await Promise.all(Array.from({ length: 60 }, () => create(token)));
    const refused = answers.filter(({ status }) => status !== 201);
    assert.deepEqual(new Set(refused.map(outcome)), new Set(['403 SIGNAL_STREAM_LIMIT_EXCEEDED']));
    assert.equal(refused.length, 10);
    assert.equal(refused[0]?.json.details.limit, 50);
    const [first] = answers.filter(({ status }) => status === 201);
    assert.equal((await ssf('DELETE', `/stream?stream_id=${first?.json.stream_id}`, token)).status, 204);
    assert.equal((await create(token)).status, 201);
  });

  it('403 SIGNAL_STREAM_LIMIT_EXCEEDED above 100 streams of an organization, whose agents have 50 each', async () => {
    const { organizationId, token } = await tenant();
    for (const { token: member } of [
      await agentIn(organizationId, ['tokens:read']),
      await agentIn(organizationId, ['tokens:read']),
    ])
      for (let count = 0; count < 50; count += 1) await created(member);
    const answer = await create(token);
    assert.equal(outcome(answer), '403 SIGNAL_STREAM_LIMIT_EXCEEDED');
    assert.equal(answer.json.details.limit, 100);
  });
});

describe('GET, PATCH, PUT and DELETE /ssf/stream', () => {
  it('200: one, the list of the agent, and an empty list', async () => {
    const other = await agentIn(home, ['tokens:read']);
    assert.deepEqual((await ssf('GET', '/stream', other.token)).json, []);
    const stream = await created(other.token);
    assert.deepEqual((await ssf('GET', '/stream', other.token)).json, [stream]);
    assert.deepEqual((await ssf('GET', `/stream?stream_id=${stream.stream_id}`, other.token)).json, stream);
  });

  it('200: PATCH changes what is named, PUT gives the rest its defaults', async () => {
    const stream = await created(api.token, { description: 'old', inactivity_timeout: 600 });
    const { stream_id } = stream;
    const requested = [caep('session-revoked')];
    const patched = await ssf('PATCH', '/stream', api.token, { ...stream, events_requested: requested });
    assert.equal(patched.status, 200, patched.text);
    assert.deepEqual(patched.json, { ...stream, events_requested: requested, events_delivered: requested });
    const put = await ssf('PUT', '/stream', api.token, { stream_id, description: 'new' });
    assert.equal(put.status, 200, put.text);
    assert.deepEqual(put.json, { ...stream, description: 'new', inactivity_timeout: 172_800 });
    assert.deepEqual(
      (await events(stream_id)).map(({ action }) => action),
      ['signal_stream.created', 'signal_stream.updated', 'signal_stream.updated'],
    );
  });

  it('200: changes of a push stream where there is one connection: no change waits for a second one', async () => {
    const node = createSignalClient(await startApp({ DATABASE_POOL_SIZE: '1' }, t));
    const push = pushTo('https://receiver.example/');
    const { stream_id } = await created(sender.token, push);
    for (const answer of await Promise.all([
      node.ssf('PATCH', '/stream', sender.token, { stream_id, description: 'new' }),
      node.ssf('PUT', '/stream', sender.token, { stream_id, ...push }),
      node.ssf('POST', '/status', sender.token, { stream_id, status: 'enabled', reason: 'again' }),
    ]))
      assert.equal(answer.status, 200, answer.text);
  });

  it('200: a PATCH that changes nothing writes no event', async () => {
    const stream = await created(api.token, { description: 'same', inactivity_timeout: 600 });
    const { stream_id } = stream;
    for (const body of [
      { stream_id },
      { stream_id, description: 'same' },
      { stream_id, inactivity_timeout: 600 },
    ])
      assert.deepEqual((await ssf('PATCH', '/stream', api.token, body)).json, stream);
    assert.deepEqual(
      (await events(stream_id)).map(({ action }) => action),
      ['signal_stream.created'],
    );
  });

  it('200: a changed stream gets the events that it asks for from then on', async () => {
    const own = await receiver(api.token, { events_requested: [caep('credential-change')] });
    await drain(own);
    await suspend();
    const change = { stream_id: own.streamId, events_requested: [caep('session-revoked')] };
    assert.equal((await ssf('PATCH', '/stream', api.token, change)).status, 200);
    const agentId = await suspend();
    assert.deepEqual(
      (await drain(own)).map(({ sub_id }) => sub_id.sub),
      [agentId],
    );
  });

  it('200: poll and push turn into each other; the header goes to no other address', async () => {
    const { stream_id } = await created(sender.token);
    const change = (body: object) => ssf('PATCH', '/stream', sender.token, { stream_id, ...body });
    const stored = async () => {
      const [row] = await t.sql<{ header: string | null }>(
        'select authorization_header as header from signal_streams where stream_id = $1',
        [stream_id],
      );
      return row?.header ?? null;
    };
    const pushed = await change(pushTo('https://receiver.example/', { authorization_header: 'Bearer x' }));
    assert.equal(pushed.json.delivery.method, pushMethod, pushed.text);
    assert.equal('inactivity_timeout' in pushed.json, false);
    assert.notEqual(await stored(), null);
    await change({ description: 'same address' });
    await change(pushTo('https://receiver.example/'));
    assert.notEqual(await stored(), null);
    await change(pushTo('https://attacker.example/'));
    assert.equal(await stored(), null);
    const polled = await ssf('PUT', '/stream', sender.token, { stream_id });
    assert.equal(polled.json.delivery.method, pollMethod, polled.text);
  });

  it('400 VALIDATION_ERROR for a changed field of ours, and for a body without stream_id', async () => {
    const { stream_id } = await created();
    for (const change of [
      { iss: 'https://other.example' },
      { aud: owner.agentId },
      { events_supported: [] },
      { events_delivered: [caep('x')] },
      { delivery: { method: pollMethod, endpoint_url: `${issuer}/api/v1/ssf/poll/x` } },
      { status: 'paused' },
    ])
      for (const method of ['PATCH', 'PUT'] as const)
        assert.equal(
          outcome(await ssf(method, '/stream', api.token, { stream_id, ...change })),
          '400 VALIDATION_ERROR',
          JSON.stringify(change),
        );
    for (const method of ['PATCH', 'PUT'] as const)
      assert.equal(outcome(await ssf(method, '/stream', api.token, {})), '400 VALIDATION_ERROR');
    assert.equal(outcome(await ssf('DELETE', '/stream', api.token)), '400 VALIDATION_ERROR');
  });

  it('403 for turning a poll stream to push, and for changing or enabling a push stream, without webhooks:write; stopping and deleting work', async () => {
    const { stream_id } = await created();
    const change = (method: 'PATCH' | 'PUT', body: object) =>
      ssf(method, '/stream', api.token, { stream_id, ...body });
    for (const method of ['PATCH', 'PUT'] as const)
      assert.equal(outcome(await change(method, pushTo('https://receiver.example/'))), '403 FORBIDDEN');
    // As if the agent had lost the scope since.
    await t.sql(
      `update signal_streams set method = 'push', endpoint_url = 'https://receiver.example/', inactivity_timeout = null
       where stream_id = $1`,
      [stream_id],
    );
    assert.equal(outcome(await change('PATCH', { description: 'x' })), '403 FORBIDDEN');
    const status = (status: string) => ssf('POST', '/status', api.token, { stream_id, status });
    assert.equal(outcome(await status('paused')), '200');
    assert.equal(outcome(await status('enabled')), '403 FORBIDDEN');
    assert.equal(outcome(await ssf('POST', '/verify', api.token, { stream_id })), '403 FORBIDDEN');
    assert.equal(outcome(await status('disabled')), '200');
    assert.equal((await ssf('DELETE', `/stream?stream_id=${stream_id}`, api.token)).status, 204);
  });

  it('204: DELETE takes the stream and its queue', async () => {
    const own = await receiver(api.token);
    await suspend();
    assert.equal((await ssf('DELETE', `/stream?stream_id=${own.streamId}`, api.token)).text, '');
    assert.equal(outcome(await pollRaw(own)), '404 SIGNAL_STREAM_NOT_FOUND');
    assert.deepEqual(await t.sql('select 1 from signal_deliveries where stream_id = $1', [own.streamId]), []);
    assert.equal((await events(own.streamId)).at(-1)?.action, 'signal_stream.deleted');
    assert.equal(
      outcome(await ssf('DELETE', `/stream?stream_id=${own.streamId}`, api.token)),
      '404 SIGNAL_STREAM_NOT_FOUND',
    );
  });
});

describe('which streams a caller has', () => {
  const requests = (
    stream_id: string,
  ): readonly (readonly [string, Parameters<typeof ssf>[0], string, object?])[] => [
    ['read', 'GET', `/stream?stream_id=${stream_id}`],
    ['change', 'PATCH', '/stream', { stream_id, description: 'x' }],
    ['replace', 'PUT', '/stream', { stream_id }],
    ['read the status', 'GET', `/status?stream_id=${stream_id}`],
    ['set the status', 'POST', '/status', { stream_id, status: 'paused' }],
    ['verify', 'POST', '/verify', { stream_id }],
    ['add a subject', 'POST', '/subjects/add', { stream_id, subject: { format: 'opaque', id: 'x' } }],
    ['remove a subject', 'POST', '/subjects/remove', { stream_id, subject: { format: 'opaque', id: 'x' } }],
    ['delete', 'DELETE', `/stream?stream_id=${stream_id}`],
  ];

  it('404 SIGNAL_STREAM_NOT_FOUND for those of another agent and another organization, and for ids that are none', async () => {
    const { stream_id } = await created();
    const sibling = await agentIn(home, ['tokens:read']);
    const before = (await ssf('GET', `/stream?stream_id=${stream_id}`, api.token)).text;
    for (const [what, method, path, body] of requests(stream_id))
      for (const { token } of [sibling, foreign])
        assert.equal(outcome(await ssf(method, path, token, body)), '404 SIGNAL_STREAM_NOT_FOUND', what);
    for (const id of [crypto.randomUUID(), 'unknown', "x' or 1=1 --", 'x'.repeat(128)])
      for (const [what, method, path, body] of requests(encodeURIComponent(id)))
        assert.equal(
          outcome(await ssf(method, path, api.token, body && { ...body, stream_id: id })),
          '404 SIGNAL_STREAM_NOT_FOUND',
          `${what} ${id}`,
        );
    assert.equal((await ssf('GET', `/stream?stream_id=${stream_id}`, api.token)).text, before);
    assert.equal((await events(stream_id)).length, 1);
  });

  it('200 for those of the organization with webhooks:write; only the agent itself polls and changes it', async () => {
    const own = await receiver(api.token);
    const { json } = await ssf('GET', '/stream', sender.token);
    assert.ok(json.some(({ stream_id }: { stream_id: string }) => stream_id === own.streamId));
    await suspend();
    const waiting = (await poll(own)).length;
    for (const { token } of [sender, owner, { token: await t.token() }]) {
      assert.equal((await ssf('GET', `/stream?stream_id=${own.streamId}`, token)).status, 200);
      const ack = (await poll(own)).map(({ jti }) => jti);
      assert.equal(outcome(await pollRaw({ ...own, token }, { ack })), '404 SIGNAL_STREAM_NOT_FOUND');
    }
    assert.equal((await poll(own)).length, waiting, 'nothing was acknowledged');
    const before = await ssf('GET', `/status?stream_id=${own.streamId}`, api.token);
    // A stream that is paused, or leaves a subject out, looks like one without signals: its API would hear nothing of an end.
    const changes = ['change', 'replace', 'set the status', 'verify', 'add a subject', 'remove a subject'];
    for (const { token } of [owner, { token: await t.token() }, sender])
      for (const [what, method, path, body] of requests(own.streamId)) {
        const isChange = changes.includes(what);
        if (!isChange && token !== sender.token) continue;
        if (what === 'delete')
          assert.equal((await ssf('GET', `/status?stream_id=${own.streamId}`, api.token)).text, before.text);
        const answer = await ssf(method, path, token, body);
        if (isChange) assert.equal(outcome(answer), '403 FORBIDDEN', what);
        else assert.ok(answer.status < 300, what);
      }
  });

  it('401 and 403 without a token, and without tokens:read', async () => {
    const { stream_id } = await created();
    const { token } = await agentIn(home, ['agents:read', 'webhooks:write']);
    for (const [what, method, path, body] of requests(stream_id)) {
      assert.equal(outcome(await ssf(method, path, token, body)), '403 INSUFFICIENT_SCOPE', what);
      const anonymous = await t.call(method, `/api/v1/ssf${path}`, body && { payload: body });
      assert.equal(outcome(anonymous), '401 UNAUTHORIZED', what);
    }
  });
});

describe('/ssf/status', () => {
  const statusOf = async (stream_id: string) =>
    (await ssf('GET', `/status?stream_id=${stream_id}`, api.token)).json;
  const setStatus = (stream_id: string, status: string, reason?: string) =>
    ssf('POST', '/status', api.token, { stream_id, status, ...(reason && { reason }) });

  it('200: paused keeps signals for later, disabled drops them, enabled goes on', async () => {
    const own = await receiver(api.token);
    await drain(own);
    const { streamId: stream_id } = own;
    assert.deepEqual(await statusOf(stream_id), { stream_id, status: 'enabled' });
    const paused = await setStatus(stream_id, 'paused', 'maintenance');
    assert.deepEqual(paused.json, { stream_id, status: 'paused', reason: 'maintenance' });
    assert.deepEqual(await statusOf(stream_id), paused.json);
    const kept = await suspend();
    assert.deepEqual(await poll(own), []);
    assert.deepEqual((await setStatus(stream_id, 'enabled')).json, { stream_id, status: 'enabled' });
    assert.deepEqual(
      (await poll(own)).map(({ sub_id }) => sub_id.sub),
      [kept],
    );
    assert.equal((await setStatus(stream_id, 'disabled')).status, 200);
    await suspend();
    await setStatus(stream_id, 'enabled');
    assert.deepEqual(await poll(own), []);
    const agentId = await suspend();
    assert.deepEqual(
      (await drain(own)).map(({ sub_id }) => sub_id.sub),
      [agentId],
    );
  });

  it('200: the same status again changes nothing, and is not recorded', async () => {
    const { stream_id } = await created();
    await setStatus(stream_id, 'paused', 'a');
    const { length } = await events(stream_id);
    assert.equal((await setStatus(stream_id, 'paused', 'a')).status, 200);
    assert.equal((await events(stream_id)).length, length);
  });

  it('400 VALIDATION_ERROR for another status', async () => {
    const { stream_id } = await created();
    assert.equal(outcome(await setStatus(stream_id, 'deleted')), '400 VALIDATION_ERROR');
  });
});

describe('POST /ssf/verify', () => {
  it('204: one event with the state, to this stream alone', async () => {
    const [own, other] = [await receiver(api.token), await receiver(api.token)];
    await drain(own);
    await drain(other);
    const answer = await ssf('POST', '/verify', api.token, { stream_id: own.streamId, state: 'a state' });
    assert.deepEqual([answer.status, answer.text], [204, '']);
    const [{ type, sub_id, event }, ...others] = (await drain(own)) as [Awaited<ReturnType<typeof poll>>[0]];
    assert.deepEqual(
      [type, sub_id, event, others],
      ['verification', { format: 'opaque', id: own.streamId }, { state: 'a state' }, []],
    );
    assert.deepEqual(await drain(other), []);
    // A stream that is made later does not have it either.
    const later = await drain(await receiver(api.token));
    assert.ok(later.every((signal) => signal.type !== 'verification'));
  });

  it('204: without a state the event has none; whatever events were requested', async () => {
    const own = await receiver(api.token, { events_requested: [] });
    await ssf('POST', '/verify', api.token, { stream_id: own.streamId });
    assert.deepEqual(
      (await drain(own)).map(({ event }) => event),
      [{}],
    );
  });

  it('429 above 30 requests of an agent in a minute', async () => {
    const { token } = await agentIn(home, ['tokens:read']);
    const { stream_id } = await created(token);
    const answers = await Promise.all(
      Array.from({ length: 31 }, () => ssf('POST', '/verify', token, { stream_id })),
    );
    const refused = answers.filter(({ status }) => status !== 204);
    assert.deepEqual(refused.map(outcome), ['429 RATE_LIMIT_EXCEEDED']);
  });
});

describe('/ssf/subjects', () => {
  const party = (sub: string) => ({ format: 'iss_sub', iss: issuer, sub });
  const change = (what: 'add' | 'remove', stream_id: string, subject: object, more: object = {}) =>
    ssf('POST', `/subjects/${what}`, api.token, { stream_id, subject, ...more });

  it('204 and 200: a removed subject is left out until it is added again; others are not', async () => {
    const own = await receiver(api.token);
    await drain(own);
    const [{ agentId: left }, { agentId: other }] = [await agentIn(home, []), await agentIn(home, [])];
    const removed = await change('remove', own.streamId, party(left));
    assert.deepEqual([removed.status, removed.text], [204, '']);
    for (const id of [left, other])
      await call('PATCH', `/agents/${id}`, owner.token, { status: 'suspended' });
    assert.deepEqual(
      (await drain(own)).map(({ sub_id }) => sub_id.sub),
      [other],
    );
    const added = await change('add', own.streamId, party(left), { verified: true });
    assert.deepEqual([added.status, added.text], [200, '']);
    assert.equal((await call('DELETE', `/agents/${left}`, owner.token)).status, 204);
    assert.deepEqual(
      (await drain(own)).map(({ sub_id }) => sub_id.sub),
      [left],
    );
  });

  it('200 and 204 for a subject of another organization, and one that does not exist: nothing shows whether it does', async () => {
    const { stream_id } = await created();
    for (const id of [foreign.agentId, crypto.randomUUID()]) {
      assert.equal((await change('add', stream_id, party(id))).status, 200);
      assert.equal((await change('remove', stream_id, party(id))).status, 204);
    }
  });

  it('400 VALIDATION_ERROR for a subject without a format, and one that is too long', async () => {
    const { stream_id } = await created();
    for (const subject of [
      {},
      { format: 1 },
      { format: '' },
      { format: 'opaque', id: 'x'.repeat(1_100) },
      [],
    ])
      assert.equal(outcome(await change('remove', stream_id, subject)), '400 VALIDATION_ERROR');
  });

  it('403 SIGNAL_STREAM_LIMIT_EXCEEDED above 500 removed subjects', async () => {
    const { stream_id } = await created();
    await t.sql(
      `insert into signal_exclusions (stream_id, subject_hash)
       select $1, sha256(convert_to(jsonb_build_object('format', 'opaque', 'id', n)::text, 'UTF8')) from generate_series(1, 500) as n`,
      [stream_id],
    );
    const subject = { format: 'opaque', id: 'one more' };
    assert.equal(outcome(await change('remove', stream_id, subject)), '403 SIGNAL_STREAM_LIMIT_EXCEEDED');
    assert.equal((await change('add', stream_id, { format: 'opaque', id: 1 })).status, 200);
    assert.equal((await change('remove', stream_id, subject)).status, 204);
  });
});
