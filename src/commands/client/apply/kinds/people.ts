/**
 * The roles of people. A file invites no people: it concerns people who were invited or have signed in. Only an entry of its own removes a
 * person.
 */
import type { ApplyApi } from '../api.ts';
import { type Change, labelOf, type Planning, type Running } from '../change.ts';
import { differences, type FieldChange, requireSame, requireUnchanged } from '../compare.ts';
import type { LivePerson, PersonEntry } from '../file/entries.ts';
import type { Entry } from '../file/identity-file.ts';
import { agentIdOf, type Reference } from '../references.ts';
import { endingAgents } from './agents.ts';
import { ofOrganization } from './of-organization.ts';

const fields = ['role', 'agentId', 'status'] as const;
const ending = "the person's sessions end, and for good all that agents may do for the person";

export function planPeople(planning: Planning): Change[] {
  const { file, live, references, problems } = planning;
  const named = new Set<string>();
  const currentOf = createCurrentPeople();
  const ended = endingAgents(planning);
  return (file.people ?? []).flatMap((entry): Change[] => {
    const { value, at } = entry;
    const owner = references.organization(value.organization, at('organization'));
    const people = owner && ofOrganization(planning, live.people, owner, [], at());
    if (!owner || !people || !isNamedOnce(planning, entry)) return [];
    const person = findPerson(planning, entry, people, owner);
    if (!person) return [];
    if (named.has(person.personId)) problems.add(at(), `an earlier entry has the person ${person.name}`);
    named.add(person.personId);
    const change =
      value.status === 'removed'
        ? removal(person, owner, currentOf)
        : update(planning, entry, person, owner, currentOf, ended);
    if (change && person.personId === planning.ownPersonId)
      problems.add(
        at(),
        'this is the person who applies the file, whose session would end; use another account',
      );
    return change ? [change] : [];
  });
}

/** By id, or by issuer and subject, or by e-mail and connection: two of them could mean two people. */
function isNamedOnce({ problems }: Planning, { value, at }: Entry<PersonEntry>): boolean {
  const { id, issuer, subject, email, connection } = value;
  const given = [[id], [issuer, subject], [email, connection]].filter((names) =>
    names.some((name) => name !== undefined),
  );
  if (given.length === 1 && given[0]?.every((name) => name !== undefined)) return true;
  problems.add(
    at(),
    'a person needs id, or issuer and subject, or email and connection, and nothing else of these',
  );
  return false;
}

function findPerson(
  planning: Planning,
  { value, at }: Entry<PersonEntry>,
  people: readonly LivePerson[],
  owner: Reference,
): LivePerson | undefined {
  const { problems } = planning;
  const { id, issuer, subject, email = '', connection } = value;
  const connectionId =
    connection === undefined ? undefined : findConnection(planning, connection, owner, at('connection'));
  if (connection !== undefined && connectionId === undefined) return undefined;
  const found = people.filter((person) =>
    id !== undefined
      ? person.personId === id.toLowerCase()
      : connectionId === undefined
        ? person.issuer === issuer && person.subject === subject
        : person.connectionId === connectionId && person.email?.toLowerCase() === email.toLowerCase(),
  );
  if (found.length > 1)
    problems.add(
      at('email'),
      `${found.length} people have this address; give the id of one, or issuer and subject`,
    );
  else if (found.length === 0 && value.status !== 'removed')
    problems.add(
      at(),
      `organization ${owner.label} has no such person; a file invites no people: use \`countersign people invite\`, or let the person sign in first`,
    );
  return found.length === 1 ? found[0] : undefined;
}

/** Its id. */
function findConnection(
  { live, problems }: Planning,
  text: string,
  owner: Reference,
  at: string,
): string | undefined {
  const found = (live.connections.get(owner.key) ?? []).filter(
    ({ connectionId, name }) => connectionId === text.toLowerCase() || name === text,
  );
  if (found.length === 1) return found[0]?.connectionId;
  problems.add(
    at,
    found.length === 0
      ? `organization ${owner.label} has no connection ${text} yet`
      : `${found.length} connections of ${owner.label} are named ${text}; give the id of one`,
  );
  return undefined;
}

const nameOf = ({ name, email, subject }: LivePerson) => `${name} (${email ?? subject})`;
const pathOf = ({ organizationId }: LivePerson) => `/organizations/${organizationId}/people`;

type CurrentPeople = (api: ApplyApi, person: LivePerson) => Promise<LivePerson | undefined>;

/** The API has no route for one person. Each organization's list is read again once, before its first change. */
function createCurrentPeople(): CurrentPeople {
  const lists = new Map<string, Promise<LivePerson[]>>();
  return async (api, person) => {
    const path = pathOf(person);
    const list = lists.get(path) ?? api.list<LivePerson>(path);
    lists.set(path, list);
    return (await list).find(({ personId }) => personId === person.personId);
  };
}

function update(
  planning: Planning,
  entry: Entry<PersonEntry>,
  person: LivePerson,
  owner: Reference,
  currentOf: CurrentPeople,
  ended: ReadonlySet<string>,
): Change | undefined {
  const { value } = entry;
  const { references } = planning;
  const agent = agentOf(planning, entry, person, ended);
  if (agent === 'problem') return undefined;
  const agentId = agent && references.ids.agents.get(agent.key);
  const wanted = {
    role: value.role,
    status: value.status,
    ...(agent && { agentId: agentId ?? `new agent ${agent.label}` }),
    ...(value.role === 'member' && { agentId: null }),
  };
  const changes = differences(fields, wanted, person);
  if (changes.length === 0) return undefined;
  const isSuspended = changes.some(({ field, to }) => field === 'status' && to === 'suspended');
  const change = {
    action: 'update',
    kind: 'person',
    name: nameOf(person),
    organization: owner.label,
    fields: changes.map((one) => withAgentNames(one, planning, agent)),
    ...(isSuspended && { remark: ending, irreversible: true as const }),
  } as const;
  return {
    ...change,
    async apply({ api, ids }: Running) {
      requireUnchanged(labelOf(change), changes, await currentOf(api, person));
      const body = Object.fromEntries(changes.map(({ field, to }) => [field, to]));
      await api.send('PATCH', `${pathOf(person)}/${person.personId}`, {
        ...body,
        ...('agentId' in body && { agentId: agent ? agentIdOf(ids, agent.key) : null }),
      });
    },
  };
}

/** The agent that the entry gives the person. A member acts through none, everybody else through one. */
function agentOf(
  { references, problems }: Planning,
  { value, at }: Entry<PersonEntry>,
  person: LivePerson,
  ended: ReadonlySet<string>,
): Reference | undefined | 'problem' {
  const role = value.role ?? person.role;
  if (role === 'member' && value.agent !== undefined) {
    problems.add(at('agent'), 'a member acts through no agent');
    return 'problem';
  }
  if (role !== 'member' && value.agent === undefined && person.agentId === null) {
    problems.add(at('role'), `the role ${role} needs agent, through which the person acts`);
    return 'problem';
  }
  if (value.agent === undefined) return undefined;
  const agent = references.agent(value.agent, at('agent'));
  if (!agent) return 'problem';
  if (ended.has(references.ids.agents.get(agent.key) ?? '')) {
    problems.add(at('agent'), `${agent.label} is decommissioned, or will be; no person can act through it`);
    return 'problem';
  }
  return agent;
}

function withAgentNames(
  { field, from, to }: FieldChange,
  { references }: Planning,
  agent?: Reference,
): FieldChange {
  if (field !== 'agentId') return { field, from, to };
  return { field: 'agent', from: from && references.agentLabel(String(from)), to: agent?.label };
}

function removal(person: LivePerson, owner: Reference, currentOf: CurrentPeople): Change {
  const change = {
    action: 'delete',
    kind: 'person',
    name: nameOf(person),
    organization: owner.label,
    fields: [],
  } as const;
  return {
    ...change,
    remark: ending,
    irreversible: true,
    async apply({ api }) {
      const current = await currentOf(api, person);
      if (!current) return;
      requireSame(labelOf(change), fields, person, current);
      await api.send('DELETE', `${pathOf(person)}/${person.personId}`);
    },
  };
}

/** First those who become admins: the server refuses to demote the last one. */
export const stagesOfPeople = (changes: readonly Change[]): Change[][] => {
  const isPromotion = ({ fields: changed }: Change) =>
    changed.some(
      ({ field, to }) => (field === 'role' && to === 'admin') || (field === 'status' && to === 'active'),
    );
  return [changes.filter(isPromotion), changes.filter((change) => !isPromotion(change))];
};
