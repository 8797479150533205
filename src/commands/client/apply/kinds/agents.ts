import { operatorScope } from '../../../../contract/scopes.ts';
import type { Change, Planning } from '../change.ts';
import { additions, differences, pick } from '../compare.ts';
import { type AgentEntry, keyOfEmail, type LiveAgent, managedFields } from '../file/entries.ts';
import type { Entry } from '../file/identity-file.ts';
import { organizationIdOf, type Reference } from '../references.ts';
import { deletionOf, type Existing, updateOf } from './existing.ts';

const fields = managedFields.agents;
const remark = 'the agent is decommissioned for good; its credentials end and its e-mail address stays taken';

export function planAgents(planning: Planning): Change[] {
  const { file, references, pruned } = planning;
  if (!file.agents) return [];
  const changes = file.agents.flatMap((entry) => {
    const { value, at } = entry;
    const owner = references.organization(value.organization, at('organization'));
    return owner ? planAgent(planning, entry, owner) : [];
  });
  if (!pruned) return changes;
  return [...changes, ...prunedAgents(planning).map((agent) => decommission(agent, planning))];
}

function prunedAgents({ file, live, pruned }: Planning): LiveAgent[] {
  const kept = new Set(file.agents?.map(({ value }) => keyOfEmail(value.email)));
  return [...live.agents.values()].filter(
    (agent) =>
      file.agents !== undefined &&
      pruned?.has(agent.organizationId) &&
      !kept.has(keyOfEmail(agent.email)) &&
      agent.status !== 'decommissioned' &&
      agent.agentId !== live.caller.agentId &&
      // An operator ends only by an entry of its own.
      !agent.allowedScopes.includes(operatorScope),
  );
}

/** Ids of decommissioned agents, and of those that this plan decommissions: their grants and trust policies have no effect. */
export function endingAgents(planning: Planning): Set<string> {
  const { file, live } = planning;
  const ending = new Set(
    file.agents
      ?.filter(({ value }) => value.status === 'decommissioned')
      .map(({ value }) => keyOfEmail(value.email)),
  );
  const ended = [...live.agents.values()].filter(
    ({ email, status }) => status === 'decommissioned' || ending.has(keyOfEmail(email)),
  );
  return new Set([...ended, ...prunedAgents(planning)].map(({ agentId }) => agentId));
}

function planAgent(planning: Planning, { value, at }: Entry<AgentEntry>, owner: Reference): Change[] {
  const { live, references, problems } = planning;
  const found = live.agents.get(keyOfEmail(value.email));
  if (!found) return value.status === 'decommissioned' ? [] : [creation(value, owner)];
  if (found.organizationId !== owner.key)
    problems.add(
      at(value.organization === undefined ? 'email' : 'organization'),
      `agent ${value.email} belongs to organization ${references.organizationLabel(found.organizationId)}, and cannot move to ${owner.label}`,
    );
  if (found.status === 'decommissioned') {
    if (value.status !== 'decommissioned')
      problems.add(
        at('email'),
        `agent ${value.email} was decommissioned, which is final. Remove the entry, or use another e-mail address`,
      );
    return [];
  }
  const isCaller = found.agentId === live.caller.agentId;
  if (isCaller && value.status !== undefined && value.status !== 'active')
    problems.add(at('status'), 'this is the agent of the client that applies the file; it cannot end itself');
  if (value.status === 'decommissioned') return [decommission(found, planning)];
  return update(value, found, owner);
}

function creation(wanted: AgentEntry, owner: Reference): Change {
  // Always sent: the instance's default would give an agent scopes that its file does not name.
  const complete: AgentEntry = { allowedScopes: [], ...wanted };
  const { organization: _, status = 'active', ...rest } = complete;
  return {
    action: 'create',
    kind: 'agent',
    name: wanted.email,
    organization: owner.label,
    fields: additions(fields, complete),
    async apply({ api, ids }) {
      const body = { ...rest, organization_id: organizationIdOf(ids, owner.key) };
      const { agentId } = await api.create<LiveAgent>('/agents', body);
      ids.agents.set(keyOfEmail(wanted.email), agentId);
      if (status !== 'active') await api.send('PATCH', `/agents/${agentId}`, { status });
    },
  };
}

const existing = ({ agentId, email }: LiveAgent, organization: string): Existing => ({
  kind: 'agent',
  name: email,
  organization,
  path: `/agents/${agentId}`,
});

function update(wanted: AgentEntry, live: LiveAgent, owner: Reference): Change[] {
  const changes = differences(fields, pick(fields, wanted), live);
  return updateOf(existing(live, owner.label), changes);
}

const decommission = (live: LiveAgent, { references }: Planning): Change =>
  deletionOf(
    { ...existing(live, references.organizationLabel(live.organizationId)), remark, irreversible: true },
    fields,
    live,
    ({ status }) => status === 'decommissioned',
  );
