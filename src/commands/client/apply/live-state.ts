/** Reads from the API the state that a file concerns. */
import { operatorScope } from '../../../contract/scopes.ts';
import { isUuid } from '../../../kernel/ids.ts';
import { ApiError } from '../connection.ts';
import { type ApplyApi, inParallel, notCountersign, pageSize } from './api.ts';
import {
  keyOfEmail,
  type LiveAgent,
  type LiveApprovalPolicy,
  type LiveClientPolicy,
  type LiveConnection,
  type LiveGrant,
  type LiveOrganization,
  type LivePerson,
  type LiveResource,
  type LiveShare,
  type LiveTrustPolicy,
  type LiveWebhook,
} from './file/entries.ts';
import type { Entry, IdentityFile } from './file/identity-file.ts';
import { organizationNamed } from './organization-named.ts';

export interface LiveState {
  readonly caller: {
    readonly agentId: string;
    readonly organizationId: string;
    readonly isOperator: boolean;
  };
  /** Undefined when the caller may not list organizations. */
  readonly organizations: readonly LiveOrganization[] | undefined;
  /** By e-mail address in lower case. */
  readonly agents: ReadonlyMap<string, LiveAgent>;
  readonly agentsById: ReadonlyMap<string, LiveAgent>;
  /** By organization id, of organizations whose people the caller may manage. */
  readonly connections: ReadonlyMap<string, readonly LiveConnection[]>;
  readonly clientPolicies: ReadonlyMap<string, LiveClientPolicy>;
  readonly approvalPolicies: ReadonlyMap<string, LiveApprovalPolicy>;
  readonly people: ReadonlyMap<string, readonly LivePerson[]>;
  readonly resources: readonly LiveResource[];
  /** By resource id. */
  readonly shares: ReadonlyMap<string, readonly LiveShare[]>;
  readonly grants: readonly LiveGrant[];
  readonly trustPolicies: readonly LiveTrustPolicy[];
  readonly webhooks: readonly LiveWebhook[];
}

/** Organizations as the file names them; undefined is the caller's own. */
type OrganizationNames = ReadonlySet<string | undefined>;

/** Which parts of the state to read. */
interface Extent {
  readonly organizations: boolean;
  /** E-mail addresses and ids; or all. */
  readonly agents: 'all' | ReadonlySet<string>;
  /** Of the organizations that the file lists. */
  readonly fileSlugs?: ReadonlySet<string>;
  /** The organization that the entry of an agent names, by the agent's e-mail address in lower case. */
  readonly homes?: ReadonlyMap<string, string | undefined>;
  readonly connections: OrganizationNames;
  readonly clientPolicies: OrganizationNames;
  readonly approvalPolicies: OrganizationNames;
  readonly people: OrganizationNames;
  readonly resources: boolean;
  /** Identifiers of the resources whose shares are read; or all. */
  readonly shares: 'all' | ReadonlySet<string>;
  /** Agents by resource, each as the file names it; or all. */
  readonly grants: 'all' | ReadonlyMap<string, ReadonlySet<string>>;
  readonly trustPolicies: 'all' | ReadonlySet<string>;
  readonly webhooks: boolean;
}

export function extentOf(file: IdentityFile, prune: boolean): Extent {
  const organizations = valuesOf(file.organizations);
  const agents = valuesOf(file.agents);
  const resources = valuesOf(file.resources);
  const grants = valuesOf(file.grants);
  const trustPolicies = valuesOf(file.trustPolicies);
  const connections = valuesOf(file.connections);
  const clientPolicies = valuesOf(file.clientPolicies);
  const approvalPolicies = valuesOf(file.approvalPolicies);
  const people = valuesOf(file.people);
  const owners = [...agents, ...connections, ...resources, ...valuesOf(file.webhooks)];
  const shared = resources.filter(({ shares }) => shares !== undefined);
  const prunes = (kind: keyof IdentityFile) => prune && file[kind] !== undefined;
  const agentsOf = Map.groupBy(grants, ({ resource }) => resource);
  const named = [
    ...owners,
    ...clientPolicies,
    ...approvalPolicies,
    ...people,
    ...resources.flatMap(({ shares = [] }) => shares),
  ].flatMap(({ organization }) => organization ?? []);
  return {
    // Ids need no list, which most clients may not read.
    organizations: organizations.length > 0 || named.some((name) => !isUuid(name)),
    agents:
      prunes('agents') || prunes('grants') || prunes('trustPolicies')
        ? 'all'
        : new Set([
            ...agents.map(({ email }) => email),
            ...[...grants, ...trustPolicies].map(({ agent }) => agent),
            ...people.flatMap(({ agent }) => agent ?? []),
          ]),
    fileSlugs: new Set(organizations.map(({ slug }) => slug)),
    homes: new Map(agents.map(({ email, organization }) => [keyOfEmail(email), organization])),
    connections: new Set([
      ...connections.map(({ organization }) => organization),
      ...people.filter(({ connection }) => connection !== undefined).map(({ organization }) => organization),
      ...(prunes('connections')
        ? [...organizations.map(({ slug }) => slug), ...owners.map(({ organization }) => organization)]
        : []),
    ]),
    clientPolicies: new Set(clientPolicies.map(({ organization }) => organization)),
    approvalPolicies: new Set(approvalPolicies.map(({ organization }) => organization)),
    people: new Set(people.map(({ organization }) => organization)),
    resources: file.resources !== undefined || file.grants !== undefined,
    shares: new Set(shared.map(({ identifier }) => identifier)),
    grants: prunes('grants')
      ? 'all'
      : new Map([...agentsOf].map(([resource, of]) => [resource, new Set(of.map(({ agent }) => agent))])),
    trustPolicies: prunes('trustPolicies') ? 'all' : new Set(trustPolicies.map(({ agent }) => agent)),
    webhooks: file.webhooks !== undefined,
  };
}

const valuesOf = <T>(entries: readonly Entry<T>[] = []): T[] => entries.map(({ value }) => value);

export async function readLiveState(api: ApplyApi, callerId: string, extent: Extent): Promise<LiveState> {
  const caller = await api.get<LiveAgent>(`/agents/${callerId}`);
  if (!caller?.organizationId || !Array.isArray(caller.allowedScopes)) throw notCountersign(api.url);
  const { agentId, organizationId, allowedScopes } = caller;
  const found = await readAgents(api, extent.agents);
  const agentsById = new Map([caller, ...found].map((agent) => [agent.agentId, agent]));
  const organizations = extent.organizations ? await readOrganizations(api) : undefined;
  const homeOf = createHomeOf(caller, organizations ?? [], extent.fileSlugs);
  const agents = agentsByEmail([...agentsById.values()], extent.homes, caller, homeOf);
  const ofOrganizations = <T>(names: OrganizationNames, read: (path: string) => Promise<T>) =>
    readOrganizationParts(new Set([...names].flatMap((name) => homeOf(name) ?? [])), read);
  const idOf = (agent: string) =>
    isUuid(agent) ? agent.toLowerCase() : agents.get(keyOfEmail(agent))?.agentId;
  const resources = extent.resources
    ? onePerIdentifier(await api.list<LiveResource>('/resources'), organizationId)
    : [];
  return {
    caller: { agentId, organizationId, isOperator: allowedScopes.includes(operatorScope) },
    organizations,
    agents,
    agentsById,
    connections: await ofOrganizations(extent.connections, (path) =>
      api.list<LiveConnection>(`${path}/connections`),
    ),
    clientPolicies: await ofOrganizations(extent.clientPolicies, (path) =>
      api.get<LiveClientPolicy>(`${path}/client-policy`),
    ),
    approvalPolicies: await ofOrganizations(extent.approvalPolicies, (path) =>
      api.get<LiveApprovalPolicy>(`${path}/approval-policy`),
    ),
    people: await ofOrganizations(extent.people, (path) => api.list<LivePerson>(`${path}/people`)),
    resources,
    shares: await readShares(api, resources, organizationId, allowedScopes, extent.shares),
    grants: await readGrants(api, resources, extent.grants, idOf),
    trustPolicies: await readTrustPolicies(api, extent.trustPolicies, idOf),
    webhooks: extent.webhooks ? await api.get<LiveWebhook[]>('/webhooks') : [],
  };
}

type HomeOf = (name: string | undefined) => string | undefined;

/** The id of the organization that an entry names. */
function createHomeOf(
  caller: LiveAgent,
  organizations: readonly LiveOrganization[],
  fileSlugs: ReadonlySet<string> = new Set(),
): HomeOf {
  return (name) => {
    if (name === undefined) return caller.organizationId;
    if (isUuid(name)) return name.toLowerCase();
    return organizationNamed(name, organizations, fileSlugs).found?.organizationId;
  };
}

/** Without those whose people the caller may not manage, or that do not exist. */
async function readOrganizationParts<T>(
  organizationIds: ReadonlySet<string>,
  read: (path: string) => Promise<T>,
): Promise<Map<string, T>> {
  const parts = await inParallel([...organizationIds], async (organizationId): Promise<[string, T][]> => {
    try {
      return [[organizationId, await read(`/organizations/${organizationId}`)]];
    } catch (error) {
      if (error instanceof ApiError && (error.status === 403 || error.status === 404)) return [];
      throw error;
    }
  });
  return new Map(parts.flat());
}

/**
 * Several organizations may have an agent with the same address. The file means the one of the organization that its entry names;
 * without an entry the caller's own, or the only one there is.
 */
function agentsByEmail(
  agents: readonly LiveAgent[],
  homes: Extent['homes'],
  caller: LiveAgent,
  homeOf: HomeOf,
): Map<string, LiveAgent> {
  const chosen = new Map<string, LiveAgent>();
  for (const [email, alike] of Map.groupBy(agents, (agent) => keyOfEmail(agent.email))) {
    const home = homes?.has(email) ? homeOf(homes.get(email)) : undefined;
    const own = alike.find(({ organizationId }) => organizationId === (home ?? caller.organizationId));
    const agent = homes?.has(email) ? own : (own ?? (alike.length === 1 ? alike[0] : undefined));
    if (agent) chosen.set(email, agent);
  }
  return chosen;
}

async function readOrganizations(api: ApplyApi): Promise<LiveOrganization[] | undefined> {
  try {
    return await api.list<LiveOrganization>('/organizations');
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return undefined;
    throw error;
  }
}

/** Reads the agents one by one, or all of them: whichever takes fewer requests. */
async function readAgents(api: ApplyApi, wanted: Extent['agents']): Promise<LiveAgent[]> {
  if (wanted === 'all') return api.list<LiveAgent>('/agents');
  const ids = [...wanted].filter(isUuid);
  const emails = [...wanted].filter((name) => !isUuid(name));
  const lookUps = emails.length + Math.ceil(ids.length / pageSize);
  if (lookUps === 0) return [];
  if (lookUps > 1) {
    const { total } = await api.page('/agents', { limit: 1 });
    if (total / pageSize < lookUps) return api.list<LiveAgent>('/agents');
  }
  const batches = Array.from({ length: Math.ceil(ids.length / pageSize) }, (_, index) =>
    ids.slice(index * pageSize, (index + 1) * pageSize).join(','),
  );
  const queries = [
    ...batches.map((batch) => ({ ids: batch })),
    ...emails.map((email) => ({ email, limit: pageSize })),
  ];
  const pages = await inParallel(queries, (query) => api.page<LiveAgent>('/agents', query));
  return pages.flatMap(({ data }) => data);
}

/**
 * Several organizations may wait for the proof of one identifier. The client's own resource counts, then the verified one, so that no other
 * organization takes the place of a resource by registering its identifier too.
 */
function onePerIdentifier(resources: readonly LiveResource[], organizationId: string): LiveResource[] {
  const rank = (resource: LiveResource) =>
    resource.organizationId === organizationId ? 0 : resource.verification?.status === 'pending' ? 2 : 1;
  const best = new Map<string, LiveResource>();
  for (const resource of resources) {
    const other = best.get(resource.identifier);
    if (!other || rank(resource) < rank(other)) best.set(resource.identifier, resource);
  }
  return resources.filter((resource) => best.get(resource.identifier) === resource);
}

/** Only the owner sees shares. */
async function readShares(
  api: ApplyApi,
  resources: readonly LiveResource[],
  organizationId: string,
  scopes: readonly string[],
  wanted: Extent['shares'],
): Promise<Map<string, LiveShare[]>> {
  const owned = resources.filter(
    (resource) =>
      (wanted === 'all' || wanted.has(resource.identifier)) &&
      (resource.organizationId === organizationId || scopes.includes(operatorScope)),
  );
  const lists = await inParallel(
    owned,
    async ({ resourceId }): Promise<[string, LiveShare[]]> => [
      resourceId,
      await api.list<LiveShare>(`/resources/${resourceId}/shares`),
    ],
  );
  return new Map(lists);
}

/** By resource; by agent when a resource has many grants and the file names few. */
async function readGrants(
  api: ApplyApi,
  resources: readonly LiveResource[],
  wanted: Extent['grants'],
  idOf: (agent: string) => string | undefined,
): Promise<LiveGrant[]> {
  const namesOf = ({ identifier, resourceId }: LiveResource) =>
    wanted === 'all' ? undefined : [...(wanted.get(identifier) ?? []), ...(wanted.get(resourceId) ?? [])];
  const concerned = resources.filter((resource) => wanted === 'all' || namesOf(resource)?.length);
  const single = new Set<string>();
  const lists = await inParallel(concerned, async (resource) => {
    const path = `/resources/${resource.resourceId}/grants`;
    const agentIds = namesOf(resource)?.flatMap((agent) => idOf(agent) ?? []);
    if (agentIds === undefined) return api.list<LiveGrant>(path);
    if (agentIds.length === 0) return [];
    const { data, total } = await api.page<LiveGrant>(path);
    if (total <= pageSize) return data;
    if (total / pageSize <= agentIds.length) return api.list<LiveGrant>(path);
    for (const agentId of agentIds) single.add(agentId);
    return [];
  });
  const ofAgents = await inParallel([...single], (agentId) =>
    api.list<LiveGrant>(`/agents/${agentId}/grants`),
  );
  const all = [...lists.flat(), ...ofAgents.flat()];
  return [...new Map(all.map((grant) => [`${grant.agentId} ${grant.resourceId}`, grant])).values()];
}

async function readTrustPolicies(
  api: ApplyApi,
  wanted: Extent['trustPolicies'],
  idOf: (agent: string) => string | undefined,
): Promise<LiveTrustPolicy[]> {
  const path = '/oidc/trust-policies';
  if (wanted === 'all') return api.list<LiveTrustPolicy>(path);
  const agentIds = new Set([...wanted].flatMap((agent) => idOf(agent) ?? []));
  if (agentIds.size === 0) return [];
  const { data, total } = await api.page<LiveTrustPolicy>(path);
  if (total <= pageSize) return [...data];
  if (total / pageSize <= agentIds.size) return api.list<LiveTrustPolicy>(path);
  const lists = await inParallel([...agentIds], (agentId) => api.list<LiveTrustPolicy>(path, { agentId }));
  return lists.flat();
}
