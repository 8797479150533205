/** The events that end sessions, and the actor of those ends. session-ends.test.ts has them over HTTP. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createSessionsListener } from './listener.ts';

async function endedBy(changes: object) {
  const ended: unknown[] = [];
  const listener = createSessionsListener({
    endAll: async (_tx, { agentId, ...actor }, owner, reason) =>
      void ended.push({
        actorId: agentId,
        person: 'person' in actor ? actor.person : 'absent',
        owner,
        reason,
      }),
  });
  const tx = { run: async () => 0, many: async () => [] };
  const event = { agentId: 'agent-1', organizationId: 'o', data: {}, metadata: {}, ...changes };
  await listener.inTransaction?.(tx as never, [event as never]);
  return ended;
}

it('the end of an agent ends its sessions, by the agent that ended it and the person behind', async () => {
  const type = 'agent.suspended';
  const owner = { agentId: 'agent-1' };
  const end = { actorId: 'agent-1', person: 'absent', owner, reason: 'agent suspended' };
  assert.deepEqual(await endedBy({ type }), [end]);
  const person = { personId: 'p', name: 'Ada' };
  assert.deepEqual(await endedBy({ type, metadata: { actorId: 'agent-2', person } }), [
    { ...end, actorId: 'agent-2', person },
  ]);
});
it('a change of a person’s name alone ends nothing; another change does', async () => {
  const type = 'person.updated';
  assert.deepEqual(await endedBy({ type, data: { personId: 'p', changed: ['name'] } }), []);
  assert.equal((await endedBy({ type, data: { personId: 'p', changed: ['name', 'role'] } })).length, 1);
});
it('a suspended person and a disabled or deleted connection end sessions; other changes of a connection do not', async () => {
  const data = { connectionId: 'c', status: 'active' };
  assert.deepEqual(await endedBy({ type: 'connection.updated', data }), []);
  for (const [type, status] of [
    ['connection.updated', 'disabled'],
    ['connection.deleted', 'active'],
  ])
    assert.deepEqual(
      (await endedBy({ type, data: { ...data, status } })).map((end) => (end as { owner: unknown }).owner),
      [{ connectionId: 'c' }],
    );
  assert.equal((await endedBy({ type: 'person.suspended', data: { personId: 'p' } })).length, 1);
  const changed = ['name', 'email', 'issuer', 'subject'];
  assert.deepEqual(await endedBy({ type: 'person.updated', data: { personId: 'p', changed } }), []);
});
it('other events end nothing', async () => assert.deepEqual(await endedBy({ type: 'agent.updated' }), []));
