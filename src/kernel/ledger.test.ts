import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startApp } from '../../test/harness.ts';
import { createIds } from './ids.ts';
import { createLedger, type Happening } from './ledger.ts';

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
  const listener = {
    inTransaction: async (_tx: unknown, happening: Happening) => void heard.push(`in ${happening.type}`),
    afterCommit: (happening: Happening) => void heard.push(`after ${happening.type}`),
  };
  return { heard, ledger: createLedger({ clock: t.clock, ids: createIds(), listeners: [listener] }) };
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
    const { ledger } = listening();
    const happening = await t.app.db.transaction((tx) => ledger.record(tx, actor, 'agent.created', subject));
    assert.equal(happening.metadata.actorId, actor.agentId);
    assert.equal(happening.agentId, subject.agentId);
    assert.equal(happening.outcome, 'success');
  });
});
