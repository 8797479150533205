import { type Change, labelOf, type Planning, type Running } from '../change.ts';
import { isSame } from '../compare.ts';
import type { LiveGrant } from '../file/entries.ts';
import { agentIdOf, type Reference, resourceIdOf } from '../references.ts';
import { endingAgents } from './agents.ts';
import { createScopeCheck } from './grant-scopes.ts';
import { requireScopesAsPlanned } from './shares.ts';

export function planGrants(planning: Planning): Change[] {
  const { file, live, references, problems, pruned } = planning;
  if (!file.grants) return [];
  const existing = new Map(live.grants.map((grant) => [`${grant.agentId} ${grant.identifier}`, grant]));
  const problemOf = createScopeCheck(planning);
  const ending = endingAgents(planning);
  const kept = new Set<string>();
  const changes = file.grants.flatMap(({ value, at }): Change[] => {
    const agent = references.agent(value.agent, at('agent'));
    const resource = references.resource(value.resource, at('resource'));
    if (!agent || !resource) return [];
    const key = `${agent.key} ${resource.key}`;
    if (kept.has(key))
      problems.add(at(), `${agent.label} has a grant for ${resource.label} in an earlier entry`);
    kept.add(key);
    for (const scope of value.scopes) {
      const problem = problemOf(agent, resource, scope);
      if (problem) problems.add(at('scopes'), problem);
    }
    const agentId = references.ids.agents.get(agent.key);
    if (agentId !== undefined && ending.has(agentId))
      problems.add(at('agent'), `${agent.label} is decommissioned, or will be; it can have no grants`);
    const found = agentId === undefined ? undefined : existing.get(`${agentId} ${resource.key}`);
    return found && isSame(found.scopes, value.scopes) ? [] : [setting(agent, resource, value.scopes, found)];
  });
  if (!pruned) return changes;
  const deleted = deletedResources(planning);
  const absent = live.grants.filter(({ agentId, identifier }) => {
    const agent = live.agentsById.get(agentId);
    if (!agent || !pruned.has(agent.organizationId) || ending.has(agentId)) return false;
    const { key } = references.agent(agentId, '') ?? { key: agentId };
    return !kept.has(`${key} ${identifier}`) && !deleted.has(identifier);
  });
  return [...changes, ...absent.map((grant) => deletion(grant, references.agentLabel(grant.agentId)))];
}

/** The grants of a resource end with it. */
function deletedResources({ file, live, pruned }: Planning): Set<string> {
  const kept = new Set(file.resources?.map(({ value }) => value.identifier));
  const isDeleted = ({ identifier, organizationId }: { identifier: string; organizationId: string }) =>
    file.resources !== undefined && !kept.has(identifier) && pruned?.has(organizationId);
  return new Set(live.resources.filter(isDeleted).map(({ identifier }) => identifier));
}

const scopesNow = async ({ api }: Running, agentId: string, resourceId: string) =>
  (await api.list<LiveGrant>(`/agents/${agentId}/grants`)).find((grant) => grant.resourceId === resourceId)
    ?.scopes;

function setting(
  agent: Reference,
  resource: Reference,
  scopes: readonly string[],
  live: LiveGrant | undefined,
): Change {
  const change = {
    action: live ? 'update' : 'create',
    kind: 'grant',
    name: `of ${resource.label} to ${agent.label}`,
    fields: [{ field: 'scopes', from: live?.scopes, to: scopes }],
  } as const;
  return {
    ...change,
    async apply(running) {
      const { api, ids, endedScopes } = running;
      const agentId = agentIdOf(ids, agent.key);
      const resourceId = resourceIdOf(ids, resource.key);
      const now = await scopesNow(running, agentId, resourceId);
      if (!isSame(now ?? [], scopes))
        requireScopesAsPlanned(labelOf(change), live?.scopes, now, endedScopes.get(resourceId));
      await api.send('PUT', `/agents/${agentId}/grants/${resourceId}`, { scopes });
    },
  };
}

function deletion(live: LiveGrant, agentLabel: string): Change {
  const { agentId, resourceId, identifier, scopes } = live;
  const name = `of ${identifier} to ${agentLabel}`;
  const fields = [{ field: 'scopes', from: scopes, to: undefined }];
  const change = { action: 'delete', kind: 'grant', name, fields } as const;
  return {
    ...change,
    async apply(running) {
      const now = await scopesNow(running, agentId, resourceId);
      if (!now) return;
      requireScopesAsPlanned(labelOf(change), scopes, now, running.endedScopes.get(resourceId));
      await running.api.send('DELETE', `/agents/${agentId}/grants/${resourceId}`);
    },
  };
}
