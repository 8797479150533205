import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type OpenStream, openStream, refusedStream } from '../../../test/support/clients/event-stream.ts';
import { newAgent, startApp } from '../../../test/support/harness.ts';
import { until } from '../../../test/support/programs.ts';

const t = await startApp({ CORS_ORIGIN: 'https://console.example' });
t.app.loops.start();
const base = await t.app.http.server.listen({ host: '127.0.0.1', port: 0 });
let operator = await t.token();

const createAgent = async (changes: object = {}): Promise<string> => {
  const answer = await t.call('POST', '/api/v1/agents', {
    token: operator,
    payload: newAgent({ ...changes }),
  });
  assert.equal(answer.status, 201, answer.text);
  return answer.json.agentId;
};

/** An organization with an agent that reads its events. */
async function createOrganization() {
  const payload = { name: 'Team', slug: `team-${crypto.randomUUID().slice(0, 13)}`, planTier: 'pro' };
  const { organizationId } = (await t.call('POST', '/api/v1/organizations', { token: operator, payload }))
    .json;
  const reader = await t.agent({
    organization_id: organizationId,
    allowedScopes: ['audit:read', 'agents:write'],
  });
  return { organizationId, reader, token: await t.token(undefined, reader) };
}

const isAbout =
  (agentId: string) =>
  ({ data }: { data: string | undefined }) =>
    data !== undefined && JSON.parse(data).agentId === agentId;
const created = (stream: OpenStream): string[] =>
  stream
    .messages()
    .filter(({ event }) => event === 'agent.created')
    .map(({ data }) => JSON.parse(data ?? '').agentId);

describe('GET /events', () => {
  it('200: an event arrives within two seconds or so, as GET /audit/{eventId} answers it', async () => {
    const earlier = await createAgent();
    const stream = await openStream(base, operator, { headers: { origin: 'https://console.example' } });
    const { headers } = stream.response;
    assert.equal(headers['content-type'], 'text/event-stream');
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal(headers['x-accel-buffering'], 'no');
    assert.equal(headers['content-encoding'], undefined);
    assert.equal(headers['access-control-allow-origin'], 'https://console.example');
    assert.match(stream.text(), /^retry: \d+\nid: [0-9a-f]{12}-\d+\n\n/);
    const agentId = await createAgent();
    const message = await stream.message('the new agent', isAbout(agentId));
    assert.equal(message.event, 'agent.created');
    const { eventId } = JSON.parse(message.data ?? '');
    const answer = await t.call('GET', `/api/v1/audit/${eventId}`, { token: operator });
    assert.equal(message.data, answer.text);
    assert.ok(!created(stream).includes(earlier), 'an event from before the stream');
    stream.close();
  });

  it('200: resumes after Last-Event-ID with every later event once, in the order of the chain', async () => {
    const first = await openStream(base, operator);
    const before = await createAgent();
    const { id } = await first.message('the first agent', isAbout(before));
    first.close();
    const missed: string[] = [];
    for (let count = 0; count < 120; count += 1) missed.push(await createAgent());
    const resumed = await openStream(base, operator, { headers: { 'last-event-id': id ?? '' } });
    const live = await createAgent();
    await resumed.message('the last agent', isAbout(live));
    assert.deepEqual(created(resumed), [...missed, live]);
    const ids = resumed.messages().map((message) => Number(message.id?.split('-')[1]));
    assert.deepEqual(
      ids,
      ids.map((_, index) => Number(id?.split('-')[1]) + 1 + index),
    );
    resumed.close();

    const byQuery = await openStream(base, operator, { query: `?lastEventId=${id}` });
    await byQuery.message('the last agent', isAbout(live));
    byQuery.close();
    const both = await openStream(base, operator, {
      query: `?lastEventId=${id}`,
      headers: { 'last-event-id': resumed.lastEventId() ?? '' },
    });
    const later = await createAgent();
    await both.message('a later agent', isAbout(later));
    assert.deepEqual(created(both), [later]);
    both.close();
  });

  it('200: a stream that got no event yet can be resumed from its opening', async () => {
    const first = await openStream(base, operator);
    const id = first.lastEventId() ?? '';
    first.close();
    const agentId = await createAgent();
    const resumed = await openStream(base, operator, { headers: { 'last-event-id': id } });
    await resumed.message('the agent', isAbout(agentId));
    resumed.close();
  });

  it('200: `action` selects a type or a prefix; a heartbeat moves the position over the rest', async () => {
    const exact = await openStream(base, operator, { query: '?action=agent.created' });
    const prefix = await openStream(base, operator, { query: '?action=agent.*' });
    const none = await openStream(base, operator, { query: '?action=marketplace.nothing' });
    const opening = none.lastEventId();
    const agentId = await createAgent();
    await t.call('PATCH', `/api/v1/agents/${agentId}`, { token: operator, payload: { version: '2.0.0' } });
    await t.token();
    await prefix.message('the change', ({ event }) => event === 'agent.updated');
    assert.deepEqual(new Set(exact.messages().map(({ event }) => event)), new Set(['agent.created']));
    assert.deepEqual(
      new Set(prefix.messages().map(({ event }) => event)),
      new Set(['agent.created', 'agent.updated']),
    );
    await until('a heartbeat with an id', async () => /: heartbeat\nid: /.test(none.text()) || undefined);
    assert.notEqual(none.lastEventId(), opening);
    assert.deepEqual(none.messages(), []);
    for (const stream of [exact, prefix, none]) stream.close();
  });

  it('200: organizations do not see each other, nor does an operator see more than its own', async () => {
    const [one, other] = [await createOrganization(), await createOrganization()];
    const streams = {
      one: await openStream(base, one.token),
      other: await openStream(base, other.token),
      operator: await openStream(base, operator),
    };
    const ofOne = await createAgent({ organization_id: one.organizationId });
    const ofOther = await createAgent({ organization_id: other.organizationId });
    const own = await createAgent();
    await streams.one.message('its agent', isAbout(ofOne));
    await streams.other.message('its agent', isAbout(ofOther));
    await streams.operator.message('its agent', isAbout(own));
    assert.deepEqual(created(streams.one), [ofOne]);
    assert.deepEqual(created(streams.other), [ofOther]);
    assert.deepEqual(created(streams.operator), [own]);
    const id = streams.one.lastEventId() ?? '';
    for (const stream of Object.values(streams)) stream.close();
    const { answer } = await refusedStream(base, other.token, { headers: { 'last-event-id': id } });
    assert.equal(answer, '400 VALIDATION_ERROR');
  });

  it('200: a heartbeat at least every 15 seconds', async () => {
    const stream = await openStream(base, operator);
    await until(
      'two heartbeats',
      async () => stream.text().split(': heartbeat').length > 2 || undefined,
      undefined,
      30_000,
    );
    stream.close();
  });

  it('200 to HEAD, without a body, and nothing stays open', async () => {
    for (let count = 0; count < 7; count += 1) {
      const response = await fetch(`${base}/api/v1/events`, {
        method: 'HEAD',
        headers: { authorization: `Bearer ${operator}` },
      });
      assert.equal(response.status, 200);
      assert.equal(await response.text(), '');
    }
  });

  it('400 VALIDATION_ERROR for a malformed position, one of the future, and a * in the middle', async () => {
    const stream = await openStream(base, operator);
    const [tag] = stream.lastEventId()?.split('-') ?? [];
    stream.close();
    for (const id of [
      'x',
      '12',
      `${tag}-`,
      `${tag}--1`,
      `${tag}-1.5`,
      `${tag}-99999999999999999999`,
      'a'.repeat(5_000),
    ]) {
      const refused = await refusedStream(base, operator, { headers: { 'last-event-id': id } });
      assert.equal(refused.answer, '400 VALIDATION_ERROR', id);
    }
    const future = await refusedStream(base, operator, { query: `?lastEventId=${tag}-99999999` });
    assert.equal(future.answer, '400 VALIDATION_ERROR');
    const filter = await refusedStream(base, operator, { query: '?action=a*b' });
    assert.equal(filter.answer, '400 VALIDATION_ERROR');
    assert.match(filter.message, /^action must be a type of event such as token.issued, or /);
  });

  it('401 UNAUTHORIZED without a token, 403 INSUFFICIENT_SCOPE without audit:read', async () => {
    assert.equal((await refusedStream(base)).answer, '401 UNAUTHORIZED');
    const other = await t.token('agents:read');
    assert.equal((await refusedStream(base, other)).answer, '403 INSUFFICIENT_SCOPE');
  });
});

describe('GET /events past retention', () => {
  it('200: a position that is too old resumes at the oldest event that is kept', async () => {
    const first = await openStream(base, operator);
    const id = first.lastEventId() ?? '';
    const expired = await createAgent();
    const newest = (await first.message('the agent', isAbout(expired))).id ?? '';
    first.close();
    t.clock.advance(95 * 86_400_000);
    operator = await t.token();
    const [tag] = id.split('-');
    // The events are past retention, and their rows still exist.
    const hidden = await openStream(base, operator, { query: `?lastEventId=${tag}-0` });
    const live = await createAgent();
    await hidden.message('the new agent', isAbout(live));
    assert.deepEqual(created(hidden), [live]);
    hidden.close();

    await t.app.audit.retain();
    for (const position of [`${tag}-0`, id, newest]) {
      const resumed = await openStream(base, operator, { headers: { 'last-event-id': position } });
      await resumed.message('the new agent', isAbout(live));
      assert.deepEqual(created(resumed), [live]);
      resumed.close();
    }
  });

  it('200: a position stays valid when retention has dropped every event of the organization', async () => {
    const { organizationId, reader, token } = await createOrganization();
    const first = await openStream(base, token);
    const earlier = await createAgent({ organization_id: organizationId });
    const { id = '' } = await first.message('its agent', isAbout(earlier));
    first.close();
    t.clock.advance(95 * 86_400_000);
    await t.app.audit.linkAll();
    await t.app.audit.retain();
    operator = await t.token();
    await t.app.audit.linkAll();
    const renewed = await t.token(undefined, reader);
    const resumed = await openStream(base, renewed, { headers: { 'last-event-id': id } });
    const agentId = await createAgent({ organization_id: organizationId });
    await resumed.message('a new agent', isAbout(agentId));
    assert.deepEqual(created(resumed), [agentId]);
    resumed.close();
  });
});
