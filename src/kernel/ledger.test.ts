import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../test/support/harness.ts';
import type { DomainEvent } from './domain-event.ts';
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

function listening() {
  const heard: string[] = [];
  const told: DomainEvent[] = [];
  const listener = {
    async inTransaction(_tx: unknown, happenings: readonly DomainEvent[]) {
      told.push(...happenings);
      heard.push(...happenings.map(({ type }) => `in ${type}`));
    },
    afterCommit: (happenings: readonly DomainEvent[]) =>
      void heard.push(...happenings.map(({ type }) => `after ${type}`)),
  };
  return { heard, told, ledger: createLedger({ clock: t.clock, ids: createIds(), listeners: [listener] }) };
}

describe('the ledger', () => {
  it('tells listeners within the transaction, and again once it is durable', async () => {
    const { heard, ledger } = listening();
    await t.app.db.transaction(async (tx) => {
      await ledger.record(tx, actor, 'agent.created', subject);
      assert.deepEqual(heard, ['in agent.created']);
    });
    assert.deepEqual(heard, ['in agent.created', 'after agent.created']);
  });
  it('tells nobody of a change that was undone', async () => {
    const { heard, ledger } = listening();
    await assert.rejects(
      t.app.db.transaction(async (tx) => {
        await ledger.record(tx, actor, 'agent.created', subject);
        throw new Error('changed my mind');
      }),
    );
    assert.deepEqual(heard, ['in agent.created']);
  });
  it('says who did it when that is somebody else', async () => {
    const { ledger, told } = listening();
    await t.app.db.transaction((tx) => ledger.record(tx, actor, 'agent.created', subject));
    const [happening] = told;
    assert.ok(happening);
    assert.equal(happening.metadata.actorId, actor.agentId);
    assert.equal(happening.agentId, subject.agentId);
    assert.equal(happening.outcome, 'success');
  });
  it('tells listeners once of many that share a transaction', async () => {
    const { heard, ledger } = listening();
    await t.app.db.transaction((tx) =>
      ledger.recordAll(tx, [
        { actor, type: 'agent.created', subject },
        { actor, type: 'agent.updated', subject },
      ]),
    );
    assert.deepEqual(heard, [
      'in agent.created',
      'in agent.updated',
      'after agent.created',
      'after agent.updated',
    ]);
  });
});
