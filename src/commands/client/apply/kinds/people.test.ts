import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LivePerson } from '../file/entries.ts';
import { createProblems, readIdentity } from '../file/identity-file.ts';
import type { LiveState } from '../live-state.ts';
import { createReferences } from '../references.ts';
import { planPeople, stagesOfPeople } from './people.ts';

const organizationId = '550e8400-e29b-41d4-a716-446655440000';
const agentId = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const idOf = (number: number) => `3f2504e0-4f89-41d3-9a0c-00000000000${number}`;

const person = (number: number, more: Partial<LivePerson> = {}): LivePerson => ({
  ...{ personId: idOf(number), organizationId, issuer: 'https://login.example', subject: String(number) },
  ...{ name: `Person ${number}`, role: 'member', agentId: null, email: null, connectionId: null },
  status: 'active',
  ...more,
});

function planned(entries: string, people: readonly LivePerson[], ownPersonId?: string) {
  const file = readIdentity([{ name: 'a.yaml', text: `version: 1\npeople:\n${entries}` }]);
  const live = {
    caller: { agentId, organizationId, isOperator: false },
    organizations: undefined,
    agents: new Map(),
    agentsById: new Map(),
    connections: new Map([[organizationId, [{ connectionId: idOf(9), name: 'Login' }]]]),
    people: new Map([[organizationId, people]]),
    resources: [],
  } as unknown as LiveState;
  const problems = createProblems();
  const references = createReferences(file, live, problems);
  const clientSecrets = { sendAll: false, read: () => '' };
  const changes = planPeople({
    file,
    live,
    references,
    problems,
    ownPersonId,
    clientSecrets,
    pruned: undefined,
  });
  problems.throwIfAny();
  return changes;
}

describe('the plan for people', () => {
  it('refuses to end the session that applies it, and accepts an entry that changes nothing of that person', () => {
    const admin = person(1, { role: 'admin', agentId });
    const demoted = `  - {id: ${idOf(1)}, role: member}\n`;
    assert.throws(() => planned(demoted, [admin], idOf(1)), /this is the person who applies the file/);
    assert.equal(planned(demoted, [admin], idOf(2)).length, 1);
    assert.deepEqual(planned(`  - {id: ${idOf(1)}, role: admin}\n`, [admin], idOf(1)), []);
  });

  it('makes admins before it demotes others, in whichever order the file has them', () => {
    const people = [person(1, { role: 'admin', agentId }), person(2, { role: 'viewer', agentId })];
    const changes = planned(
      `  - {id: ${idOf(1)}, role: viewer}\n  - {id: ${idOf(2)}, role: admin}\n`,
      people,
    );
    assert.deepEqual(
      stagesOfPeople(changes).map((stage) => stage.map(({ name }) => name)),
      [['Person 2 (2)'], ['Person 1 (1)']],
    );
  });

  it('refuses an address that several people have: it was given to another person', () => {
    const shared = { email: 'ada@example.com', connectionId: idOf(9) };
    const entry = '  - {email: ada@example.com, connection: Login, status: suspended}\n';
    assert.throws(() => planned(entry, [person(1, shared), person(2, shared)]), /2 people have this address/);
    assert.equal(planned(entry, [person(1, shared), person(2)]).length, 1);
    assert.throws(() => planned(entry, [person(1, { ...shared, connectionId: idOf(8) })]), /no such person/);
  });
});
