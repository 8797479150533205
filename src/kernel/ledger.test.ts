import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../test/support/harness.ts';
import type { EventType } from '../contract/events.ts';
import type { DomainEvent, LedgerListener } from './domain-event.ts';
import { createIds } from './ids.ts';
import { createLedger } from './ledger.ts';

const t = await startApp();
const actor = {
  requestId: 'request-1',
  ipAddress: '192.0.2.1',
  userAgent: 'test',
  agentId: t.operator.agentId,
};
const subject = {
  organizationId: t.operator.organizationId,
  agentId: '00000000-0000-4000-8000-000000000001',
};

function createListeningLedger(types: LedgerListener['types'] = 'all') {
  const calls: string[] = [];
  const received: DomainEvent[] = [];
  const listener = {
    types,
    async inTransaction(_tx: unknown, events: readonly DomainEvent[]) {
      received.push(...events);
      calls.push(...events.map(({ type }) => `in ${type}`));
    },
    afterCommit: (events: readonly DomainEvent[]) =>
      void calls.push(...events.map(({ type }) => `after ${type}`)),
  };
  return {
    calls,
    received,
    ledger: createLedger({ clock: t.clock, ids: createIds(), listeners: [listener] }),
  };
}

describe('the ledger', () => {
  it('calls listeners in the transaction, and again after the commit', async () => {
    const { calls, ledger } = createListeningLedger();
    await t.app.db.transaction(async (tx) => {
      await ledger.record(tx, actor, 'agent.created', subject);
      assert.deepEqual(calls, ['in agent.created']);
    });
    assert.deepEqual(calls, ['in agent.created', 'after agent.created']);
  });
  it('does not call afterCommit for a transaction that was rolled back', async () => {
    const { calls, ledger } = createListeningLedger();
    await assert.rejects(
      t.app.db.transaction(async (tx) => {
        await ledger.record(tx, actor, 'agent.created', subject);
        throw new Error('rolled back');
      }),
    );
    assert.deepEqual(calls, ['in agent.created']);
  });
  it('records the actor when it is not the subject', async () => {
    const { ledger, received } = createListeningLedger();
    await t.app.db.transaction((tx) => ledger.record(tx, actor, 'agent.created', subject));
    const [event] = received;
    assert.ok(event);
    assert.equal(event.metadata.actorId, actor.agentId);
    assert.equal(event.agentId, subject.agentId);
    assert.equal(event.outcome, 'success');
  });
  it('gives a listener the events for which it registered, and does not call it for others', async () => {
    const { calls, ledger } = createListeningLedger(['agent.updated']);
    const entriesOf = (...types: EventType[]) => types.map((type) => ({ actor, type, subject }));
    await t.app.db.transaction(async (tx) => {
      await ledger.recordAll(tx, entriesOf('agent.created'));
      await ledger.recordAll(tx, entriesOf('agent.created', 'agent.updated', 'agent.suspended'));
    });
    assert.deepEqual(calls, ['in agent.updated', 'after agent.updated']);
  });
  it('calls listeners once for all events of a transaction', async () => {
    const { calls, ledger } = createListeningLedger();
    await t.app.db.transaction((tx) =>
      ledger.recordAll(tx, [
        { actor, type: 'agent.created', subject },
        { actor, type: 'agent.updated', subject },
      ]),
    );
    assert.deepEqual(calls, [
      'in agent.created',
      'in agent.updated',
      'after agent.created',
      'after agent.updated',
    ]);
  });
});
