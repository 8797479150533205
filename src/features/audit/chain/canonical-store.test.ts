import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { startApp } from '../../../../test/support/harness.ts';
import { storeTexts } from '../../../../test/support/scenarios/audit-log.ts';
import { createLedger } from '../../../kernel/ledger.ts';
import { canonicalOf } from './canonical-store.ts';

const t = await startApp();
const { organizationId, agentId } = t.operator;

/** Strings as requests may contain them: no NUL, no lone surrogates. */
const anyText = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 30 }),
    fc.string({
      unit: fc.constantFrom(
        ...['"', '\\', '/', '\b', '\t', '\n', '\f', '\r', '\u0001', '\u001e', '\u001f', '\u007f', '\u0080'],
        ...['\u2028', '\u2029', '\ufeff', '\uffff', '\u{1f600}', '\u{10ffff}', 'é', '<', '{', ',', '%', "'"],
      ),
      maxLength: 30,
    }),
  )
  .map((text) => text.replaceAll('\0', ''));

const audited = () => createLedger({ clock: t.clock, ids: t.app.ids, listeners: [t.app.audit.listener] });

const record = (
  userAgent: string,
  ipAddress: string,
  metadata: Record<string, unknown>,
  owner = organizationId,
) =>
  t.app.db.transaction((tx) =>
    audited().record(tx, { ipAddress, userAgent, requestId: 'r' }, 'agent.updated', {
      organizationId: owner,
      agentId,
      metadata,
    }),
  );

const lastRow = async () => {
  const [row] = await t.sql<{
    text: string;
    stored: string | null;
    fields: Record<string, unknown>;
    at: Date;
  }>(
    `select ${canonicalOf('audit_events').sql} as text, canonical as stored, occurred_at as at,
            json_build_object('action', action, 'agentId', agent_id, 'eventId', event_id, 'ipAddress', ip_address,
              'metadata', metadata, 'organizationId', organization_id, 'outcome', outcome, 'userAgent', user_agent) as fields
     from audit_events where action = 'agent.updated' order by occurred_at desc, event_id desc limit 1`,
  );
  assert.ok(row);
  return row;
};

describe('the canonical text of an event', () => {
  it('is built by SQL as RFC 8785 writes it, for any text', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, anyText, anyText, fc.double(), async (userAgent, ipAddress, text, number) => {
        t.clock.advance(1);
        const metadata = {
          text,
          [`key ${text}`]: [text, null, true],
          ...(Number.isFinite(number) && { number }),
        };
        await record(userAgent, ipAddress, metadata);
        const row = await lastRow();
        assert.equal(row.fields.userAgent, userAgent);
        assert.equal(row.fields.ipAddress, ipAddress);
        assert.equal(row.stored, null);
        assert.equal(row.text, canonicalize({ ...row.fields, timestamp: row.at.toISOString() }));
      }),
      { numRuns: 150 },
    );
    const { finding } = await t.app.audit.verify(organizationId);
    assert.equal(finding, undefined);
  });

  it('verifies in one chain with rows of earlier versions, which store it', async () => {
    const owner = t.app.ids.uuid();
    await record('before', '192.0.2.1', { text: '"\u001f' }, owner);
    await storeTexts(t, owner);
    assert.notEqual((await lastRow()).stored, null);
    await record('after', '192.0.2.1', {}, owner);
    assert.equal((await lastRow()).stored, null);
    const { checked, finding } = await t.app.audit.verify(owner);
    assert.deepEqual([checked, finding], [2, undefined]);
  });

  it('stores an id in lower case and a lone surrogate as a replacement character, as sealed', async () => {
    const owner = t.app.ids.uuid();
    await record('\ud800 agent', '192.0.2.1', {}, owner.toUpperCase());
    assert.equal((await lastRow()).fields.userAgent, '\ufffd agent');
    const { checked, finding } = await t.app.audit.verify(owner);
    assert.deepEqual([checked, finding], [1, undefined]);
  });
});
