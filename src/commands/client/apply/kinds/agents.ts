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

/** Ids of the agents that exist and have an entry. Other organizations may have agents with the same addresses. */
const namedBy = ({ file, live }: Planning, isMeant: (entry: AgentEntry) => boolean): Set<string> =>
  new Set(
    (file.agents ?? [])
      .filter(({ value }) => isMeant(value))
      .flatMap(({ value }) => live.agents.get(keyOfEmail(value.email))?.agentId ?? []),
  );

function prunedAgents(planning: Planning): LiveAgent[] {
  const { file, live, pruned } = planning;
  const kept = namedBy(planning, () => true);
  return [...live.agentsById.values()].filter(
    (agent) =>
      file.agents !== undefined &&
      pruned?.has(agent.organizationId) &&
      !kept.has(agent.agentId) &&
      agent.status !== 'decommissioned' &&
      !agent.clientUri &&
      agent.agentId !== live.caller.agentId &&
      // An operator ends only by an entry of its own.
      !agent.allowedScopes.includes(operatorScope),
  );
}

/** Ids of decommissioned agents, and of those that this plan decommissions: their grants and trust policies have no effect. */
export function endingAgents(planning: Planning): Set<string> {
  const ending = namedBy(planning, ({ status }) => status === 'decommissioned');
  const ended = [...planning.live.agentsById.values()].filter(
    ({ agentId, status }) => status === 'decommissioned' || ending.has(agentId),
  );
  return new Set([...ended, ...prunedAgents(planning)].map(({ agentId }) => agentId));
}

function planAgent(planning: Planning, { value, at }: Entry<AgentEntry>, owner: Reference): Change[] {
  const { live, problems } = planning;
  const found = live.agents.get(keyOfEmail(value.email));
  // An agent of another organization with this address is another agent. On a single-tenant instance the server refuses the address.
  if (!found || found.organizationId !== owner.key)
    return value.status === 'decommissioned' ? [] : [creation(value, owner)];
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
