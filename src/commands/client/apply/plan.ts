/** The plan: the changes that make the server like the file, in the order in which they are applied. */
import type { Change, Planning } from './change.ts';
import { planAgents } from './kinds/agents.ts';
import { planConnections } from './kinds/connections.ts';
import { planGrants } from './kinds/grants.ts';
import { planOrganizations } from './kinds/organizations.ts';
import { planPeople, stagesOfPeople } from './kinds/people.ts';
import { planApprovalPolicies, planClientPolicies } from './kinds/policies.ts';
import { planResources } from './kinds/resources.ts';
import { planShares } from './kinds/shares.ts';
import { planTrustPolicies } from './kinds/trust-policies.ts';
import { planWebhooks } from './kinds/webhooks.ts';

export function makePlan(planning: Planning): Change[][] {
  const organizations = planOrganizations(planning);
  const agents = planAgents(planning);
  const connections = planConnections(planning);
  const clientPolicies = planClientPolicies(planning);
  const approvalPolicies = planApprovalPolicies(planning);
  const people = planPeople(planning);
  const resources = planResources(planning);
  const shares = planShares(planning);
  const grants = planGrants(planning);
  const policies = planTrustPolicies(planning);
  const webhooks = planWebhooks(planning);
  planning.problems.throwIfAny();
  return [
    ...[organizations, agents, connections, clientPolicies, approvalPolicies].map(withoutDeletions),
    ...stagesOfPeople(withoutDeletions(people)),
    ...[resources, shares, grants].map(withoutDeletions),
    // First: the server refuses a policy that admits the same tokens as another one of the agent.
    deletionsOf(policies),
    ...[policies, webhooks].map(withoutDeletions),
    ...[webhooks, grants, shares, resources, people, connections, agents, organizations].map(deletionsOf),
  ].filter(({ length }) => length > 0);
}

const withoutDeletions = (changes: readonly Change[]) => changes.filter(({ action }) => action !== 'delete');
const deletionsOf = (changes: readonly Change[]) => changes.filter(({ action }) => action === 'delete');
