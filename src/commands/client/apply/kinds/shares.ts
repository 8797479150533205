import { type Change, labelOf, type Planning, type Running } from '../change.ts';
import { changedError, isSame, shown } from '../compare.ts';
import type { LiveShare, ResourceEntry, ShareEntry } from '../file/entries.ts';
import type { Entry } from '../file/identity-file.ts';
import { organizationIdOf, type Reference, resourceIdOf } from '../references.ts';
import { noteEnded } from './resources.ts';

export function planShares(planning: Planning): Change[] {
  return (planning.file.resources ?? []).flatMap((entry) =>
    entry.value.shares ? planOf(planning, entry) : [],
  );
}

function planOf(planning: Planning, { value, at }: Entry<ResourceEntry>): Change[] {
  const { live, references, problems, pruned } = planning;
  const resource = references.resourceOf(value.identifier);
  const existing = (resource && live.shares.get(resource.resourceId)) ?? [];
  const names = new Set(value.scopes.map((scope) => (typeof scope === 'string' ? scope : scope.name)));
  const kept = new Set<string>();
  const changes = (value.shares ?? []).flatMap((share, index): Change[] => {
    const other = references.organization(share.organization, at('shares', index, 'organization'));
    if (!other) return [];
    if (kept.has(other.key))
      problems.add(at('shares', index), `the API is shared with ${other.label} by an earlier entry`);
    kept.add(other.key);
    for (const scope of share.scopes)
      if (!names.has(scope))
        problems.add(at('shares', index, 'scopes'), `${scope} is not a scope of the API`);
    const found = existing.find(({ organizationId }) => organizationId === other.key);
    return found && isSame(requestedScopes(found), share.scopes)
      ? []
      : [setting(value.identifier, other, share, found)];
  });
  if (!pruned) return changes;
  const absent = existing.filter(({ organizationId }) => !kept.has(organizationId));
  return [
    ...changes,
    ...absent.map((share) => {
      const { organizationId } = share;
      return deletion(
        value.identifier,
        { key: organizationId, label: references.organizationLabel(organizationId) },
        share,
      );
    }),
  ];
}

/** Those in force and those that wait for the other organization: all that the owner has asked for. */
export function requestedScopes(share: LiveShare): string[];
export function requestedScopes(share: LiveShare | undefined): string[] | undefined;
export function requestedScopes(share: LiveShare | undefined): string[] | undefined {
  return share && [...new Set([...share.scopes, ...(share.offeredScopes ?? [])])];
}

const nameOf = (identifier: string, other: Reference) => `of ${identifier} with ${other.label}`;

const scopesNow = async ({ api }: Running, resourceId: string, organizationId: string) =>
  requestedScopes(
    (await api.list<LiveShare>(`/resources/${resourceId}/shares`)).find(
      (share) => share.organizationId === organizationId,
    ),
  );

function setting(
  identifier: string,
  other: Reference,
  wanted: ShareEntry,
  live: LiveShare | undefined,
): Change {
  const change = {
    action: live ? 'update' : 'create',
    kind: 'share',
    name: nameOf(identifier, other),
    fields: [{ field: 'scopes', from: requestedScopes(live), to: wanted.scopes }],
  } as const;
  return {
    ...change,
    async apply(running) {
      const { api, ids, endedScopes } = running;
      const resourceId = resourceIdOf(ids, identifier);
      const organizationId = organizationIdOf(ids, other.key);
      const now = await scopesNow(running, resourceId, organizationId);
      if (!isSame(now ?? [], wanted.scopes))
        requireScopesAsPlanned(labelOf(change), requestedScopes(live), now, endedScopes.get(resourceId));
      const lost = (requestedScopes(live) ?? []).filter((scope) => !wanted.scopes.includes(scope));
      noteEnded(endedScopes, resourceId, lost);
      await api.send('PUT', `/resources/${resourceId}/shares/${organizationId}`, { scopes: wanted.scopes });
    },
  };
}

function deletion(identifier: string, other: Reference, live: LiveShare): Change {
  const change = { action: 'delete', kind: 'share', name: nameOf(identifier, other), fields: [] } as const;
  return {
    ...change,
    remark: "the grants of the other organization's agents end with it",
    async apply(running) {
      const { resourceId, organizationId } = live;
      const now = await scopesNow(running, resourceId, organizationId);
      if (!now) return;
      requireScopesAsPlanned(
        labelOf(change),
        requestedScopes(live),
        now,
        running.endedScopes.get(resourceId),
      );
      await running.api.send('DELETE', `/resources/${resourceId}/shares/${organizationId}`);
    },
  };
}

/** Apart from scopes that this run has ended itself. */
export function requireScopesAsPlanned(
  label: string,
  planned: readonly string[] | undefined,
  now: readonly string[] | undefined,
  ended: ReadonlySet<string> = new Set(),
): void {
  const remaining = (scopes: readonly string[] = []) => scopes.filter((scope) => !ended.has(scope));
  if (!isSame(remaining(planned), remaining(now)))
    throw changedError(label, `scopes were ${shown(planned)} and are now ${shown(now)}`);
}
