import type { Change, Planning, Running } from '../change.ts';
import { additions, differences, pick } from '../compare.ts';
import { type LiveResource, managedFields, type ResourceEntry } from '../file/entries.ts';
import type { Entry } from '../file/identity-file.ts';
import type { Reference } from '../references.ts';
import { deletionOf, type Existing, updateOf } from './existing.ts';

const fields = managedFields.resources;

export function planResources(planning: Planning): Change[] {
  const { file, live, references, pruned } = planning;
  if (!file.resources) return [];
  const changes = file.resources.flatMap((entry) => {
    const { value, at } = entry;
    const owner = references.organization(value.organization, at('organization'));
    return owner ? planResource(planning, entry, owner) : [];
  });
  if (!pruned) return changes;
  const kept = new Set(file.resources.map(({ value }) => value.identifier));
  const absent = live.resources.filter(
    ({ identifier, organizationId }) => !kept.has(identifier) && pruned.has(organizationId),
  );
  return [...changes, ...absent.map((resource) => deletion(resource, planning))];
}

/** The fields as the API has them: every scope and every type with a description, or null. */
const resourceFields = (wanted: ResourceEntry) => ({
  ...pick(fields, wanted),
  ...(wanted.approvers && { approvers: wanted.approvers.map((personId) => personId.toLowerCase()) }),
  ...(wanted.authorizationDetailTypes && {
    authorizationDetailTypes: wanted.authorizationDetailTypes.map(({ type, description, schema }) => ({
      type,
      description: description ?? null,
      schema,
    })),
  }),
  scopes: wanted.scopes.map((scope) =>
    typeof scope === 'string'
      ? { name: scope, description: null }
      : { name: scope.name, description: scope.description ?? null },
  ),
});

function planResource(planning: Planning, { value, at }: Entry<ResourceEntry>, owner: Reference): Change[] {
  const { live, references, problems } = planning;
  const names = new Set(resourceFields(value).scopes.map(({ name }) => name));
  for (const scope of value.peopleScopes ?? [])
    if (!names.has(scope)) problems.add(at('peopleScopes'), `${scope} is not a scope of the API`);
  const found = references.resourceOf(value.identifier);
  if (!found) {
    if (owner.key !== live.caller.organizationId)
      problems.add(
        at('organization'),
        `an API is created in the client's own organization; apply it with a client of ${owner.label}`,
      );
    return [creation(value, owner)];
  }
  if (found.organizationId !== owner.key)
    problems.add(
      at('identifier'),
      `API ${value.identifier} belongs to organization ${references.organizationLabel(found.organizationId)}; only its owner can manage it`,
    );
  return update(resourceFields(value), found, owner);
}

function creation(wanted: ResourceEntry, owner: Reference): Change {
  const body = { ...resourceFields(wanted), identifier: wanted.identifier };
  return {
    action: 'create',
    kind: 'resource',
    name: wanted.identifier,
    organization: owner.label,
    fields: additions(fields, body),
    async apply({ api, ids }) {
      const { resourceId } = await api.create<LiveResource>('/resources', body);
      ids.resources.set(wanted.identifier, resourceId);
    },
  };
}

const existing = ({ resourceId, identifier }: LiveResource, organization: string): Existing => ({
  kind: 'resource',
  name: identifier,
  organization,
  path: `/resources/${resourceId}`,
});

function update(wanted: ReturnType<typeof resourceFields>, live: LiveResource, owner: Reference): Change[] {
  const kept = new Set(wanted.scopes.map(({ name }) => name));
  const lost = live.scopes.map(({ name }) => name).filter((name) => !kept.has(name));
  return updateOf(existing(live, owner.label), differences(fields, wanted, live), {
    beforeSend: ({ endedScopes }) => noteEnded(endedScopes, live.resourceId, lost),
  });
}

/** The server takes these scopes from shares and grants. */
export function noteEnded(
  endedScopes: Running['endedScopes'],
  resourceId: string,
  scopes: readonly string[],
): void {
  endedScopes.set(resourceId, new Set([...(endedScopes.get(resourceId) ?? []), ...scopes]));
}

function deletion(live: LiveResource, { references }: Planning): Change {
  const organization = references.organizationLabel(live.organizationId);
  const remark = 'its shares and grants end with it';
  return deletionOf({ ...existing(live, organization), remark }, fields, live);
}
