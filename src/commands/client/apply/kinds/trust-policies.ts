import type { Change, Planning } from '../change.ts';
import { additions, differences, pick } from '../compare.ts';
import { type LiveTrustPolicy, managedFields, type TrustPolicyEntry } from '../file/entries.ts';
import type { Entry } from '../file/identity-file.ts';
import { agentIdOf, type Reference } from '../references.ts';
import { endingAgents } from './agents.ts';
import { deletionOf, type Existing, updateOf } from './existing.ts';

const fields = managedFields.trustPolicies;

export function planTrustPolicies(planning: Planning): Change[] {
  const { file, live, references, problems, pruned } = planning;
  if (!file.trustPolicies) return [];
  const ending = endingAgents(planning);
  const kept = new Set<string>();
  const named = new Set<string>();
  const changes = file.trustPolicies.flatMap((entry): Change[] => {
    const { value, at } = entry;
    const agent = references.agent(value.agent, at('agent'));
    if (!agent) return [];
    const key = value.id?.toLowerCase() ?? `${agent.key} ${value.name}`;
    if (named.has(key))
      problems.add(at('name'), `${agent.label} has a policy ${value.name} in an earlier entry`);
    named.add(key);
    const agentId = references.ids.agents.get(agent.key);
    if (agentId !== undefined && ending.has(agentId))
      problems.add(
        at('agent'),
        `${agent.label} is decommissioned, or will be; it can have no trust policies`,
      );
    const found = findPolicy(planning, entry, agent);
    if (found === 'problem') return [];
    if (!found) return [creation(value, agent)];
    kept.add(found.policyId);
    if (found.provider !== value.provider)
      problems.add(
        at('provider'),
        `the provider of a policy cannot change from ${found.provider} to ${value.provider}; give the new policy another name`,
      );
    return update(value, found, agent);
  });
  if (!pruned) return changes;
  const absent = live.trustPolicies.filter(
    ({ policyId, organizationId, agentId }) =>
      !kept.has(policyId) && pruned.has(organizationId) && !ending.has(agentId),
  );
  return [...changes, ...absent.map((policy) => deletion(policy, references.agentLabel(policy.agentId)))];
}

function findPolicy(
  { live, references, problems }: Planning,
  { value, at }: Entry<TrustPolicyEntry>,
  agent: Reference,
): LiveTrustPolicy | undefined | 'problem' {
  const agentId = references.ids.agents.get(agent.key);
  const ofAgent = live.trustPolicies.filter((policy) => policy.agentId === agentId);
  const found = ofAgent.filter(({ policyId, name }) =>
    value.id === undefined ? name === value.name : policyId === value.id.toLowerCase(),
  );
  if (found.length > 1)
    problems.add(
      at('name'),
      `${agent.label} has ${found.length} policies named ${value.name}; add the id of one`,
    );
  else if (found.length === 0 && value.id !== undefined)
    problems.add(at('id'), `${agent.label} has no trust policy with this id`);
  else return found[0];
  return 'problem';
}

const nameOf = (policy: string, agent: string) => `${policy} of ${agent}`;

function creation(wanted: TrustPolicyEntry, agent: Reference): Change {
  const { agent: _, ...body } = wanted;
  return {
    action: 'create',
    kind: 'trust policy',
    name: nameOf(wanted.name, agent.label),
    fields: additions(['provider', ...fields.slice(1)], wanted),
    async apply({ api, ids }) {
      await api.send('POST', '/oidc/trust-policies', { ...body, agentId: agentIdOf(ids, agent.key) });
    },
  };
}

const existing = ({ policyId, name }: LiveTrustPolicy, agentLabel: string): Existing => ({
  kind: 'trust policy',
  name: nameOf(name, agentLabel),
  path: `/oidc/trust-policies/${policyId}`,
});

const update = (wanted: TrustPolicyEntry, live: LiveTrustPolicy, agent: Reference): Change[] =>
  updateOf(existing(live, agent.label), differences(fields, pick(fields, wanted), live));

const deletion = (live: LiveTrustPolicy, agentLabel: string): Change =>
  deletionOf(existing(live, agentLabel), fields, live);
