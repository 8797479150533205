/** GET /audit/chain and GET /audit/keys: all that a client needs to verify a chain alone. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { startApp } from '../../../../test/support/harness.ts';
import { recordEvents, storeTexts } from '../../../../test/support/scenarios/audit-log.ts';
import type { AuditChain, AuditLink } from '../schema.ts';

const t = await startApp({ MULTI_TENANT: 'true' });
const operator = await t.token();
const dayMs = 86_400_000;

async function createOrganization() {
  const payload = { name: 'Team', slug: `team-${crypto.randomUUID().slice(0, 13)}`, planTier: 'pro' };
  const { organizationId } = (await t.call('POST', '/api/v1/organizations', { token: operator, payload }))
    .json;
  const reader = await t.agent({ organization_id: organizationId, allowedScopes: ['audit:read'] });
  return { organizationId, token: await t.token(undefined, reader) } as {
    organizationId: string;
    token: string;
  };
}
const tenant = await createOrganization();
const other = await createOrganization();

const get = (query = '', token = tenant.token) => t.call('GET', `/api/v1/audit/chain${query}`, { token });
const chainOf = async (query = '', token = tenant.token): Promise<AuditChain> => {
  const answer = await get(query, token);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
};
const walk = async (limit: number): Promise<AuditChain[]> => {
  const pages = [await chainOf(`?limit=${limit}`)];
  for (let last = pages[0]?.links.at(-1); last && last.sequence < (pages[0]?.size ?? 0); ) {
    const page = await chainOf(`?limit=${limit}&after=${last.sequence}`);
    pages.push(page);
    last = page.links.at(-1);
  }
  return pages;
};

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const hex = (number: number) => number.toString(16).padStart(16, '0');
const micros = (time: string) =>
  (Date.parse(`${time.slice(0, 23)}Z`) - Date.UTC(2000, 0, 1)) * 1000 + Number(time.slice(23, 26));

/** As the guide describes it, with nothing but the answer. */
function recompute(organizationId: string, links: readonly AuditLink[]): string {
  let head = sha256(`countersign audit chain of ${organizationId}`);
  for (const { sequence, eventId, time, event } of links) {
    assert.ok(event);
    const eventHash = sha256(`${event.appendedIn} ${event.seal} ${event.canonical}`);
    head = sha256(head + hex(sequence) + eventId.replaceAll('-', '') + hex(micros(time)) + eventHash);
  }
  return head;
}

for (const events of [3, 40, 1, 12]) {
  await recordEvents(t, tenant.organizationId, events);
  t.clock.advance(1_000);
  await t.app.audit.linkAll();
}

describe('GET /audit/chain', () => {
  it('200: links in order with the text of each event, from which every hash follows', async () => {
    const page = await chainOf();
    const { links, checkpoints, size, organizationId } = page;
    assert.equal(organizationId, tenant.organizationId);
    assert.deepEqual(
      links.map(({ sequence }) => sequence),
      Array.from({ length: size }, (_, index) => index + 1),
    );
    assert.deepEqual([page.startsAfter, page.anchor, page.inconsistentLinks], [0, null, false]);
    assert.equal(recompute(organizationId, links), links.at(-1)?.hash);
    for (const { size: covered, headHash } of checkpoints) assert.equal(links[covered - 1]?.hash, headHash);
    assert.equal(checkpoints.at(-1)?.size, size);
    const [link] = links;
    const text = JSON.parse(link?.event?.canonical ?? '');
    assert.deepEqual([text.eventId, text.organizationId], [link?.eventId, organizationId]);
    assert.equal(link?.event?.columns, null);
  });

  it('200: pages of any size join to the same chain, and each checkpoint is in one of them', async () => {
    const whole = await chainOf();
    for (const limit of [1, 7, 43, 1_000]) {
      const pages = await walk(limit);
      assert.deepEqual(
        pages.flatMap(({ links }) => links),
        whole.links,
      );
      assert.deepEqual(
        pages.flatMap(({ checkpoints }) => checkpoints),
        whole.checkpoints,
      );
      for (const { links } of pages) assert.ok(links.length <= limit);
    }
  });

  it('200: the first page has the events of a moment ago, and a later page none that came after it', async () => {
    const { size } = await chainOf('?limit=1');
    await recordEvents(t, tenant.organizationId, 2);
    const page = await chainOf(`?after=${size - 1}`);
    assert.equal(page.links.length, 1);
    assert.equal((await chainOf('?limit=1')).size, size + 2);
    assert.equal((await chainOf(`?after=${size}`)).links.length, 2);
  });

  it('200: checkpoints are those of GET /audit/checkpoints', async () => {
    const { checkpoints } = await chainOf();
    const { data } = (await t.call('GET', '/api/v1/audit/checkpoints?limit=200', { token: tenant.token }))
      .json;
    assert.deepEqual(
      checkpoints.map(({ previous, linkedOn, ...rest }) => rest),
      data.toReversed(),
    );
  });

  it('200: after the end there is nothing; an organization without events has an empty chain', async () => {
    const { size } = await chainOf('?limit=1');
    for (const after of [size, size + 5, Number.MAX_SAFE_INTEGER])
      assert.deepEqual((await chainOf(`?after=${after}`)).links, []);
    const empty = await chainOf(`?organizationId=${crypto.randomUUID()}`, operator);
    assert.deepEqual([empty.size, empty.links, empty.checkpoints], [0, [], []]);
  });

  it('200: a tenant sees its own chain only, the operator any', async () => {
    const foreign = await get(`?organizationId=${tenant.organizationId}`, other.token);
    assert.deepEqual([foreign.status, foreign.json.code], [404, 'ORG_NOT_FOUND']);
    assert.equal((await chainOf('', other.token)).organizationId, other.organizationId);
    const named = await chainOf(`?organizationId=${tenant.organizationId.toUpperCase()}`, operator);
    assert.deepEqual(named.links, (await chainOf()).links);
  });

  it('200: an event of an earlier version has the stored text, and shows that its columns differ', async () => {
    const { organizationId } = other;
    await recordEvents(t, organizationId, 3);
    await t.app.audit.linkAll();
    await storeTexts(t, organizationId);
    const before = await chainOf('', other.token);
    assert.ok(before.links.every(({ event }) => event?.columns === null));
    const target = before.links.at(-1);
    await t.sql(
      'set session_replication_role = replica; ' +
        `update audit_events set ip_address = '192.0.2.99' where event_id = '${target?.eventId}'`,
    );
    const event = (await chainOf('', other.token)).links.at(-1)?.event;
    assert.equal(event?.canonical, target?.event?.canonical);
    assert.equal(event?.columns, target?.event?.canonical.replace('192.0.2.1"', '192.0.2.99"'));
    await t.sql(
      'set session_replication_role = replica; ' +
        `update audit_events set ip_address = '192.0.2.1' where event_id = '${target?.eventId}'`,
    );
  });

  it('200: rows that were changed are answered as they are, never with an error', async () => {
    const changes = [
      "records = records || '\\x00'::bytea",
      'records = substr(records, 2)',
      "records = ''",
      'size = size + 1000',
      'size = -5',
      'records = overlay(records placing int8send(-1) from 17)',
      'records = overlay(records placing int8send(9223372036854775807) from 17)',
      'leaf_index = null',
      "proof = '\\x00'::bytea",
      'taken_on = taken_on + 1',
    ];
    const organizationId = t.app.ids.uuid();
    await recordEvents(t, organizationId, 5);
    await t.app.audit.linkAll();
    const query = `?organizationId=${organizationId}`;
    const before = await chainOf(query, operator);
    for (const change of changes) {
      const [kept] = await t.sql(`select * from audit_segments where organization_id = $1`, [organizationId]);
      await t.sql(
        `set session_replication_role = replica; update audit_segments set ${change} where organization_id = '${organizationId}'`,
      );
      const answer = await get(query, operator);
      assert.equal(answer.status, 200, `${change}: ${answer.text}`);
      assert.notDeepEqual(answer.json, before, change);
      await t.sql(
        `set session_replication_role = replica;
         delete from audit_segments where organization_id = '${organizationId}'`,
      );
      await restore(kept as Record<string, unknown>);
    }
    assert.deepEqual(await chainOf(query, operator), before);
  });

  it('400 VALIDATION_ERROR for a limit or position out of range', async () => {
    for (const query of [
      '?limit=0',
      '?limit=1001',
      '?limit=x',
      '?after=-1',
      '?after=1.5',
      '?organizationId=x',
    ])
      assert.equal((await get(query)).json.code, 'VALIDATION_ERROR', query);
  });

  it('403 INSUFFICIENT_SCOPE without audit:read', async () => {
    assert.equal((await get('', await t.token('agents:read'))).json.code, 'INSUFFICIENT_SCOPE');
  });
});

/** Puts a row back as it was. */
async function restore(row: Record<string, unknown>): Promise<void> {
  const names = Object.keys(row);
  await t.sql(
    `insert into audit_segments (${names.join(', ')}) values (${names.map((_, index) => `$${index + 1}`).join(', ')})`,
    Object.values(row),
  );
}

describe('GET /audit/keys', () => {
  it('200: the statement of each key, newest first', async () => {
    const { data, total } = (await t.call('GET', '/api/v1/audit/keys', { token: tenant.token })).json;
    assert.equal(total, 1);
    const [key] = (await t.call('GET', '/.well-known/jwks.json')).json.keys;
    const claims = JSON.parse(Buffer.from(data[0].signed.split('.')[1], 'base64url').toString());
    assert.deepEqual([data[0].keyId, data[0].number, claims.key.kid], [key.kid, 1, key.kid]);
    assert.equal(data[0].time, claims.at);
    const beyond = (await t.call('GET', '/api/v1/audit/keys?page=2', { token: tenant.token })).json;
    assert.deepEqual([beyond.data, beyond.total], [[], 1]);
  });
});

describe('GET /audit with organizationId', () => {
  it('200 for the operator and the own organization, 404 ORG_NOT_FOUND for another', async () => {
    const list = (query: string, token: string) => t.call('GET', `/api/v1/audit?${query}`, { token });
    const one = await list(`organizationId=${tenant.organizationId}`, operator);
    assert.equal(one.json.total, (await list('', tenant.token)).json.total);
    assert.equal((await list(`organizationId=${tenant.organizationId}`, tenant.token)).status, 200);
    const foreign = await list(`organizationId=${tenant.organizationId}`, other.token);
    assert.deepEqual([foreign.status, foreign.json.code], [404, 'ORG_NOT_FOUND']);
  });
});

describe('GET /audit/chain past retention', () => {
  it('200: begins after the signed anchor; dropped events are null', async () => {
    const { size } = await chainOf('?limit=1');
    t.clock.advance(92 * dayMs);
    await recordEvents(t, tenant.organizationId, 3);
    await t.app.audit.linkAll();
    await t.app.audit.retain();
    const renewed = await t.token();
    const { anchor, startsAfter, links } = await chainOf(`?organizationId=${tenant.organizationId}`, renewed);
    assert.ok(anchor);
    assert.equal(startsAfter, size);
    assert.deepEqual(
      links.map(({ sequence, event }) => [sequence, event === null]),
      [1, 2, 3].map((place) => [size + place, false]),
    );
  });
});
