import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Answer, startApp } from '../../../../test/support/harness.ts';
import type { AuditEvent } from '../schema.ts';

const t = await startApp();
const operator = await t.token();
const { organizationId: otherHome } = (
  await t.call('POST', '/api/v1/organizations', {
    token: operator,
    payload: { name: 'Other', slug: 'other', planTier: 'pro' },
  })
).json;
const ours = await t.agent();
const theirs = await t.agent({ organization_id: otherHome });
const theirToken = await t.token(undefined, theirs);

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const iso = (time: number) => new Date(time).toISOString();
const now = () => t.clock.now();

const list = (query = '', token = theirToken): Promise<Answer> =>
  t.call('GET', `/api/v1/audit?${query}`, { token });
const events = async (query = '', token = theirToken): Promise<AuditEvent[]> => {
  const { status, json, text } = await list(query, token);
  assert.equal(status, 200, text);
  return json.data;
};
const read = (eventId: string, token = theirToken) => t.call('GET', `/api/v1/audit/${eventId}`, { token });
const refuse = (secret = 'cs_wrong') =>
  t.askToken({ grant_type: 'client_credentials', client_id: theirs.clientId, client_secret: secret });
const idsOf = (found: readonly AuditEvent[]) => found.map(({ eventId }) => eventId);
const rename = (owner: string) =>
  t.call('PATCH', `/api/v1/agents/${theirs.agentId}`, {
    token: operator,
    payload: { owner },
    remoteAddress: '192.0.2.7',
    headers: { 'user-agent': 'probe/1.0' },
  });

describe('GET /audit', () => {
  it('200 with events exactly as the interface shows them', async () => {
    await rename('someone');
    const { json } = await list('limit=1');
    assert.deepEqual(Object.keys(json), ['data', 'total', 'page', 'limit']);
    const [event] = json.data;
    assert.deepEqual(Object.keys(event), [
      'eventId',
      'agentId',
      'action',
      'outcome',
      'ipAddress',
      'userAgent',
      'metadata',
      'timestamp',
    ]);
    assert.equal(event.agentId, theirs.agentId);
    assert.deepEqual([event.action, event.outcome], ['agent.updated', 'success']);
    assert.deepEqual([event.ipAddress, event.userAgent], ['192.0.2.7', 'probe/1.0']);
    assert.equal(event.metadata.actorId, t.operator.agentId);
    assert.deepEqual(event.metadata.changed, ['owner']);
    assert.equal(event.timestamp, iso(Date.parse(event.timestamp)));
    assert.ok(Math.abs(Date.parse(event.timestamp) - now()) < 60_000);
  });

  it('200 most recent first, 50 to a page by default, with the total of all pages', async () => {
    // Many of the same millisecond, too: those share a transaction.
    for (let round = 0; round < 20; round += 1) {
      t.clock.advance(10);
      await Promise.all([refuse(), refuse(), refuse()]);
    }
    const first = (await list()).json;
    assert.deepEqual([first.page, first.limit, first.data.length], [1, 50, 50]);
    const { data: all, total } = (await list('limit=200')).json;
    assert.equal(total, all.length);
    assert.equal(first.total, total);
    assert.ok(total > 60);
    assert.deepEqual(first.data, all.slice(0, 50));
    const order = all.map(({ timestamp, eventId }: AuditEvent) => `${timestamp} ${eventId}`);
    assert.deepEqual(order, order.toSorted().reverse());
    const pages: [string, AuditEvent[]][] = [
      ['page=2', all.slice(50)],
      ['page=3&limit=7', all.slice(14, 21)],
      ['limit=1', all.slice(0, 1)],
      [`page=${total}&limit=1`, all.slice(-1)],
      [`page=${total + 1}&limit=1`, []],
      ['page=10000000&limit=200', []],
    ];
    for (const [query, expected] of pages) {
      const answer = (await list(query)).json;
      assert.equal(answer.total, total, query);
      assert.deepEqual(answer.data, expected, query);
    }
  });

  it('200 filtered: agentId in either case, action, outcome, and together; an unknown value finds nothing', async () => {
    const all = await events('limit=200');
    const filters: [string, (event: AuditEvent) => boolean][] = [
      [`agentId=${theirs.agentId}`, (event) => event.agentId === theirs.agentId],
      [`agentId=${theirs.agentId.toUpperCase()}`, (event) => event.agentId === theirs.agentId],
      [`agentId=${t.operator.agentId}`, (event) => event.agentId === t.operator.agentId],
      [`agentId=${crypto.randomUUID()}`, () => false],
      ['action=token.refused', ({ action }) => action === 'token.refused'],
      ['action=agent.updated', ({ action }) => action === 'agent.updated'],
      ['outcome=failure', ({ outcome }) => outcome === 'failure'],
      ['outcome=success', ({ outcome }) => outcome === 'success'],
      ['outcome=success&action=token.refused', () => false],
      ['outcome=success&action=token.issued', ({ action }) => action === 'token.issued'],
      ['action=TOKEN.REFUSED', () => false],
      ['action=token', () => false],
      ['action=token.%25', () => false],
      ['action=no.such.thing', () => false],
      ["action='%20or%20true%20--", () => false],
    ];
    for (const [query, matches] of filters) {
      const { data, total } = (await list(`limit=200&${query}`)).json;
      assert.deepEqual(idsOf(data), idsOf(all.filter(matches)), query);
      assert.equal(total, data.length, query);
    }
    for (const query of [`agentId=${theirs.agentId}`, 'action=agent.updated', 'outcome=failure'])
      assert.ok((await events(query)).length > 0, `${query} matches some events`);
  });

  it('200 between two moments, both included, in any zone; a date is the whole day of UTC', async () => {
    const midnight = (Math.floor(now() / dayMs) + 2) * dayMs;
    t.clock.advance(midnight - now());
    const moments: number[] = [];
    for (const step of [hourMs, hourMs, 23 * hourMs]) {
      t.clock.advance(step);
      await refuse();
      const [latest] = await events('action=token.refused&limit=1', await t.token(undefined, theirs));
      moments.push(Date.parse(latest?.timestamp ?? ''));
    }
    const [one = 0, two = 0, three = 0] = moments;
    const day = iso(midnight).slice(0, 10);
    const nextDay = iso(midnight + dayMs).slice(0, 10);
    const inZone = (time: number) => encodeURIComponent(`${iso(time + 2 * hourMs).slice(0, -1)}+02:00`);
    const token = await t.token(undefined, theirs);
    const times: [string, number[]][] = [
      [`fromDate=${iso(one)}&toDate=${iso(three)}`, [three, two, one]],
      [`fromDate=${iso(one + 1)}&toDate=${iso(three - 1)}`, [two]],
      [`fromDate=${iso(two)}&toDate=${iso(two)}`, [two]],
      [`fromDate=${inZone(two)}&toDate=${inZone(two)}`, [two]],
      // Without a zone it is UTC. A zone may be short, and its + may arrive without percent-encoding.
      [`fromDate=${iso(two).slice(0, -1)}&toDate=${iso(two).slice(0, -1)}000`, [two]],
      [`fromDate=${inZone(two).replace(/%3A00$/, '00')}&toDate=${inZone(two)}`, [two]],
      [`fromDate=${inZone(two).replace(/%3A00$/, '')}&toDate=${inZone(two).replace('%2B', '+')}`, [two]],
      [`fromDate=${iso(two + 1)}`, [three]],
      [`fromDate=${day}&toDate=${day}`, [two, one]],
      [`fromDate=${nextDay}`, [three]],
      [`fromDate=${day}&toDate=${nextDay}`, [three, two, one]],
      [`fromDate=${iso(now() + dayMs)}`, []],
      [`fromDate=${day}&toDate=9999-12-31T23:59:59-23:59`, [three, two, one]],
    ];
    for (const [query, expected] of times) {
      const { data, total } = (await list(`action=token.refused&limit=200&${query}`, token)).json;
      assert.deepEqual(
        data.map(({ timestamp }: AuditEvent) => Date.parse(timestamp)),
        expected,
        query,
      );
      assert.equal(total, expected.length, query);
    }
  });

  it('neither rows nor totals cross organizations; the operator sees all', async () => {
    const [mine, their] = [await t.token(undefined, ours), await t.token(undefined, theirs)];
    const [all, ourPage, theirPage] = [
      (await list('limit=200', await t.token())).json,
      (await list('limit=200', mine)).json,
      (await list('limit=200', their)).json,
    ];
    assert.equal(all.total, ourPage.total + theirPage.total);
    const counts = await t.sql<{ home: string; n: number }>(
      'select organization_id as home, count(*)::int as n from audit_events group by 1',
    );
    assert.equal(counts.find(({ home }) => home === otherHome)?.n, theirPage.total);
    const foreign = new Set(idsOf(ourPage.data));
    assert.deepEqual(
      idsOf(theirPage.data).filter((id) => foreign.has(id)),
      [],
    );
    assert.deepEqual(await events(`agentId=${ours.agentId}`, their), []);
    // The view of the operator depends on the scopes of the token, not on its owner.
    const narrow = (await list('limit=200', await t.token('audit:read'))).json;
    assert.equal(narrow.total, ourPage.total + 1, 'and one more: that token itself');
  });

  const bad: [string, string][] = [
    ['limit=201', 'limit'],
    ['limit=0', 'limit'],
    ['page=0', 'page'],
    ['page=100000000000000000000', 'page'],
    ['agentId=x', 'agentId'],
    [`agentId=urn:uuid:${theirs.agentId}`, 'agentId'],
    ['outcome=maybe', 'outcome'],
    ['outcome=', 'outcome'],
    [`action=${'x'.repeat(65)}`, 'action'],
    ['action=a&action=b', 'action'],
    ...[
      '',
      'yesterday',
      '1700000000',
      '2030-02-30',
      '2030-04-31T00:00:00Z',
      '2030-13-01',
      '2030-01-01T25:00:00Z',
      '2030-01-01T00:00:00+',
      '2030-01-01T00:00:00%2B2',
      '2030-01-01T',
      '2030-01-01 00:00:00Z',
      '2030-01-01T00:00:00%2B99:99',
      '2016-12-31T23:59:60Z',
      '275760-09-13T00:00:00Z',
      '%2B275760-09-13T00:00:00.001Z',
      '-271821-04-20',
      '20300101',
      '2030-W01',
      "2030-01-01'--",
      '٢٠٣٠-٠١-٠١',
      '9'.repeat(5_000),
    ].flatMap((date): [string, string][] => [
      [`fromDate=${date}`, 'fromDate'],
      [`toDate=${date}`, 'toDate'],
    ]),
    ['fromDate=2030-01-02&toDate=2030-01-01', 'fromDate'],
    ['fromDate=2030-01-01T00:00:00.001Z&toDate=2030-01-01T00:00:00Z', 'fromDate'],
  ];
  it('400 VALIDATION_ERROR with the field, for each invalid parameter', async () => {
    const token = await t.token(undefined, theirs);
    for (const [query, field] of bad) {
      const { status, json } = await list(query, token);
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR'], query);
      assert.deepEqual([json.details.fields[0].in, json.details.fields[0].field], ['query', field], query);
    }
  });

  it('400 VALIDATION_ERROR for NUL and lone surrogates in a filter', async () => {
    const token = await t.token(undefined, theirs);
    for (const query of ['action=%00', 'action=%ED%A0%80', 'fromDate=%00', 'agentId=%00'])
      assert.deepEqual(
        [(await list(query, token)).status, (await list(query, token)).json.code],
        [400, 'VALIDATION_ERROR'],
      );
  });

  it('400 RETENTION_WINDOW_EXCEEDED for a date of more than 90 days ago, with the oldest date', async () => {
    const token = await t.token(undefined, theirs);
    const oldest = now() - 90 * dayMs;
    const dayOf = (time: number) => iso(time).slice(0, 10);
    for (const query of [
      `fromDate=${iso(oldest - 2 * 60_000)}`,
      `fromDate=${iso(oldest - dayMs)}&toDate=${iso(now())}`,
      `fromDate=${dayOf(oldest - dayMs)}`,
      'fromDate=0000-01-01',
      'fromDate=1970-01-01T00:00:00Z',
      `toDate=${iso(oldest - 2 * 60_000)}`,
      `toDate=${dayOf(oldest - dayMs)}`,
    ]) {
      const { status, json } = await list(query, token);
      assert.deepEqual([status, json.code], [400, 'RETENTION_WINDOW_EXCEEDED'], query);
      assert.equal(json.details.retentionDays, 90);
      assert.ok(Math.abs(Date.parse(json.details.oldest) - oldest) < 60_000);
    }
    // A client computed its own "90 days ago" a moment earlier.
    for (const query of [
      `fromDate=${iso(oldest)}`,
      `fromDate=${iso(oldest - 5_000)}`,
      `fromDate=${dayOf(oldest)}`,
    ])
      assert.equal((await list(query, token)).status, 200, query);
  });
});

describe('the first and last dates', () => {
  for (const date of ['0000-01-01', '0001-01-01T00:00:00%2B14:00', '9999-12-31', '9999-12-31T23:59:59-14:00'])
    for (const field of ['fromDate', 'toDate'])
      it(`no 5xx for ${field}=${date}`, async () => {
        for (const path of ['', '/verify']) {
          const { status } = await t.call('GET', `/api/v1/audit${path}?${field}=${date}`, {
            token: await t.token(),
          });
          assert.ok(status === 200 || status === 400, `${path} answers ${status}`);
        }
      });
});

describe('GET /audit/{eventId}', () => {
  it('200 the event as the list shows it, its id in either case; every one of them', async () => {
    const token = await t.token(undefined, theirs);
    const all = await events('limit=200', token);
    for (const event of all) assert.deepEqual((await read(event.eventId, token)).json, event);
    const [event] = all;
    assert.deepEqual((await read(event?.eventId.toUpperCase() ?? '', token)).json, event);
    assert.deepEqual((await read(event?.eventId ?? '', await t.token())).json, event, 'the operator crosses');
  });

  it('404 AUDIT_EVENT_NOT_FOUND for unknown ids, for events of other organizations, and for ids that are no event ids', async () => {
    const [mine, token] = [await t.token(undefined, ours), await t.token(undefined, theirs)];
    const [event] = await events('limit=1', token);
    const id = event?.eventId ?? '';
    const foreign = await read(id, mine);
    assert.deepEqual([foreign.status, foreign.json.code], [404, 'AUDIT_EVENT_NOT_FOUND']);
    for (const unknown of [
      t.app.ids.uuidV7(now()),
      t.app.ids.uuidV7(0),
      crypto.randomUUID(),
      // The random part of a real id, with another time, another version, or the latest time of an id.
      `00000000-0000-${id.slice(14)}`,
      `${id.slice(0, 14)}4${id.slice(15)}`,
      `ffffffff-ffff-${id.slice(14)}`,
      'ffffffff-ffff-ffff-ffff-ffffffffffff',
      '00000000-0000-0000-0000-000000000000',
    ]) {
      const answer = await read(unknown, token);
      assert.equal(answer.status, 404, unknown);
      assert.equal(answer.text, foreign.text, unknown);
    }
  });

  it('400 VALIDATION_ERROR for an id that is no UUID', async () => {
    const token = await t.token(undefined, theirs);
    for (const id of [
      'x',
      '0',
      `${theirs.agentId}0`,
      `%20${theirs.agentId}`,
      `urn:uuid:${theirs.agentId}`,
      '%00',
    ]) {
      const { status, json } = await read(id, token);
      assert.deepEqual([status, json.code], [400, 'VALIDATION_ERROR'], id);
    }
  });
});

describe('retention', () => {
  it('an event is shown for 90 days and no longer, though its partition still exists', async () => {
    await refuse();
    const [event] = await events('limit=1&action=token.refused', await t.token(undefined, theirs));
    assert.ok(event);
    const happened = Date.parse(event.timestamp);
    const visible = async () => {
      await t.app.prepare();
      const token = await t.token(undefined, theirs);
      const { data, total } = (await list('limit=200&action=token.refused', token)).json;
      assert.equal(data.length, total);
      const { status, json } = await read(event.eventId, token);
      assert.ok(status === 200 || json.code === 'AUDIT_EVENT_NOT_FOUND');
      const listed = idsOf(data).includes(event.eventId);
      assert.equal(status, listed ? 200 : 404, 'list and look-up agree');
      return listed;
    };
    t.clock.advance(happened + 90 * dayMs - 60_000 - now());
    assert.equal(await visible(), true);
    // The same for the operator.
    t.clock.advance(happened + 90 * dayMs + 1 - now());
    assert.equal(await visible(), false);
    const operatorToken = await t.token();
    assert.equal((await read(event.eventId, operatorToken)).status, 404);
    const { data } = (await list(`limit=200&fromDate=${iso(now() - 90 * dayMs)}`, operatorToken)).json;
    assert.ok(!idsOf(data).includes(event.eventId));
    assert.equal(
      (await t.sql('select 1 from audit_events where event_id = $1', [event.eventId])).length,
      1,
      'the row itself is left to the retention loop',
    );
  });
});
