import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FindingCode } from '../findings.ts';
import { eventHash, type Link, linkHash, linkRecord, type StoredEvent } from './hashes.ts';
import type { CheckpointRow } from './statements.ts';
import {
  acceptCheckpoint,
  acceptStoredLink,
  coverageFinding,
  emptyHead,
  evidenceOf,
  headOf,
  nextHead,
  startChain,
  truncationFinding,
} from './verify-chain.ts';

const organizationId = '018f0000-0000-7000-8000-000000000001';
const day = '2030-01-31';

interface Row {
  readonly link: Link;
  readonly event: StoredEvent | undefined;
}

function createEvent(number: number): StoredEvent {
  const columns = {
    action: 'token.issued',
    agentId: '018f0000-0000-7000-8000-000000000002',
    eventId: `018f0000-0000-7000-8000-00000000010${number}`,
    ipAddress: '192.0.2.1',
  };
  const rest = { organizationId, outcome: 'success', userAgent: 'test' };
  const metadata = { number };
  const timestamp = `${day}T12:00:0${number}.000Z`;
  const { outcome, userAgent } = rest;
  const canonical = JSON.stringify({ ...columns, metadata, organizationId, outcome, timestamp, userAgent });
  const time = `${day}T12:00:0${number}.000000Z`;
  return {
    ...columns,
    ...rest,
    metadata: JSON.stringify(metadata),
    time,
    canonical,
    appendedIn: '7',
    seal: 'ab',
  };
}

/** Three links with correct hashes. */
function createRows(): Row[] {
  let previous = emptyHead(organizationId).head;
  return [1, 2, 3].map((sequence) => {
    const event = createEvent(sequence);
    const link = { sequence, eventId: event.eventId, time: event.time, eventHash: eventHash(event) };
    previous = linkHash(previous, linkRecord(link));
    return { link: { ...link, hash: previous, linkedOn: day }, event };
  });
}

function createCheckpoint(rows: readonly Row[], changes: Partial<CheckpointRow> = {}) {
  const last = rows.at(-1)?.link as Link;
  const at = `${day}T12:00:09.000Z`;
  const statement = { organizationId, number: 1, size: last.sequence, head: last.hash, at, previous: null };
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${part({ kid: 'key' })}.${part({ ...statement, ...changes })}.signature`;
  return { ...statement, ...changes, keyId: 'key', signed, takenOn: day };
}

function firstCode(rows: readonly Row[], droppedThrough?: string): FindingCode | undefined {
  const state = startChain(organizationId, emptyHead(organizationId), droppedThrough);
  for (const { link, event } of rows) {
    const finding = acceptStoredLink(state, evidenceOf(link, event), event);
    if (finding) return finding.code;
  }
  const { head, finding } = nextHead(organizationId, state.checkpoint, createCheckpoint(rows));
  return finding ? finding.code : acceptCheckpoint(state, head)?.code;
}

const rows = createRows();
const change = (link: Partial<Link>, event: Partial<StoredEvent> = {}): Row[] =>
  rows.with(1, {
    link: { ...(rows[1] as Row).link, ...link },
    event: { ...((rows[1] as Row).event as StoredEvent), ...event },
  });
const textOf = (index: number) => (rows[index] as Row).event?.canonical ?? '';

/** The second link for a text other than that of its event, with correct hashes throughout. */
function relinked(canonical: string, columns: Partial<StoredEvent> = {}): Row[] {
  const event = { ...createEvent(2), ...columns, canonical };
  const link = { ...(rows[1] as Row).link, eventHash: eventHash(event) };
  return [
    rows[0] as Row,
    { link: { ...link, hash: linkHash((rows[0] as Row).link.hash, linkRecord(link)) }, event },
  ];
}

describe('acceptLink', () => {
  it('accepts links with their events', () => assert.equal(firstCode(rows), undefined));

  const faults: [what: string, rows: Row[], code: FindingCode][] = [
    ['a link is missing', rows.toSpliced(1, 1), 'LINK_MISSING'],
    ['two links are swapped', [rows[0], rows[2], rows[1]] as Row[], 'LINK_MISSING'],
    ['the hash of a link was edited', change({ hash: '0'.repeat(64) }), 'LINK_HASH_MISMATCH'],
    ['the time of a link was edited', change({ time: `${day}T12:00:02.001000Z` }), 'LINK_HASH_MISMATCH'],
    ['the event was edited', change({}, { canonical: textOf(1).replace('test', 'text') }), 'EVENT_CHANGED'],
    ['the seal was edited', change({}, { seal: 'ac' }), 'EVENT_CHANGED'],
    ['a column was edited', change({}, { action: 'agent.created' }), 'EVENT_COLUMNS_DIFFER'],
    ['the link is stored under another day', change({ linkedOn: '2030-02-01' }), 'LINK_DAY_MISMATCH'],
    ['the text is that of another event', relinked(textOf(2)), 'EVENT_TEXT_OF_ANOTHER'],
    ['the text is no JSON', relinked('{'), 'EVENT_TEXT_INVALID'],
    [
      'the text has more than the columns',
      relinked(`${textOf(1).slice(0, -1)},"x":1}`),
      'EVENT_TEXT_HAS_MORE',
    ],
  ];
  for (const [what, changed, code] of faults)
    it(`${code}: ${what}`, () => assert.equal(firstCode(changed), code));

  const withoutEvent = rows.with(1, { link: (rows[1] as Row).link, event: undefined });
  it('EVENT_MISSING unless retention dropped its day', () => {
    assert.equal(firstCode(withoutEvent), 'EVENT_MISSING');
    assert.equal(firstCode(withoutEvent, '2030-01-30'), 'EVENT_MISSING');
    assert.equal(firstCode(withoutEvent, day), undefined);
  });
});

describe('checkpoints', () => {
  const start = emptyHead(organizationId);
  const faults: [what: string, changes: Partial<ReturnType<typeof createCheckpoint>>][] = [
    ['the number is not the next', { number: 2 }],
    ['the previous hash differs', { previous: '0'.repeat(64) }],
    ['it covers no new link', { size: 0 }],
    ['the row differs from its statement', { head: '0'.repeat(64) }],
    ['it is stored under another day', { takenOn: '2030-02-01' }],
    ['another key is named', { keyId: 'other' }],
  ];
  for (const [what, changes] of faults)
    it(`does not follow: ${what}`, () =>
      assert.equal(
        nextHead(organizationId, start, { ...createCheckpoint(rows), ...changes }).finding?.code,
        'CHECKPOINT_NOT_FOLLOWING',
      ));

  it('CHECKPOINT_HEAD_MISMATCH: it has another size or head than its links', () => {
    for (const changes of [{ size: 2 }, { head: '0'.repeat(64) }]) {
      const state = startChain(organizationId, start, undefined);
      for (const { link, event } of rows) acceptStoredLink(state, evidenceOf(link, event), event);
      const { head } = nextHead(organizationId, start, createCheckpoint(rows, changes));
      assert.ok(head);
      assert.equal(acceptCheckpoint(state, head)?.code, 'CHECKPOINT_HEAD_MISMATCH');
    }
  });

  it('LINKS_WITHOUT_CHECKPOINT: links follow the last checkpoint', () => {
    const head = headOf(createCheckpoint(rows));
    assert.equal(coverageFinding(organizationId, 3, head), undefined);
    assert.equal(coverageFinding(organizationId, 4, head)?.code, 'LINKS_WITHOUT_CHECKPOINT');
  });

  it('CHECKPOINT_LOST: a head that was seen is missing or different', () => {
    const seen = headOf(createCheckpoint(rows));
    assert.equal(truncationFinding(organizationId, seen, seen), undefined);
    for (const now of [start, { ...seen, hash: 'other' }])
      assert.equal(truncationFinding(organizationId, seen, now)?.code, 'CHECKPOINT_LOST');
  });
});
