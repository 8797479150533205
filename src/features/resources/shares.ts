/** Shares: another organization may grant its agents some of the scopes. */
import { type Caller, refuseBorrowedScope } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import { validationError } from '../../kernel/http/input/validation.ts';
import { pageOf } from '../../kernel/http/page.ts';
import type { ResourceDeps, ShareService } from './deps.ts';
import { grantEvent, shareEvents } from './events.ts';
import type { RevokeGrants } from './granting-rule.ts';
import type { Resource, Share } from './schema.ts';
import { deleteShares, findShare, listShares, upsertShare } from './store.ts';
import { lockOwned, requireOwned, requireScopes } from './visibility.ts';

export function createShareService(
  { db, clock, ledger, organizationOf }: Pick<ResourceDeps, 'db' | 'clock' | 'ledger' | 'organizationOf'>,
  revokeGrants: RevokeGrants,
): ShareService {
  const requireOrganization = async (tx: Tx, organizationId: string) => {
    const found = await organizationOf(tx, organizationId);
    if (!found || found.status === 'deleted') fail('ORG_NOT_FOUND');
  };

  /** Narrows the grants of the other organization's agents, and records the change. */
  const apply = async (tx: Tx, caller: Caller, resource: Resource, share: Share, lost: readonly string[]) => {
    await upsertShare(tx, share);
    const { organizationId, updatedAt } = share;
    const narrow = { scopes: lost, now: updatedAt };
    const grants = await revokeGrants(tx, caller, resource, { organizationId, narrow });
    const reason = 'resource.shared';
    await ledger.recordAll(tx, [
      ...shareEvents(caller, reason, resource, share),
      ...grants.changed.map((grant) => grantEvent(caller, 'grant.changed', resource, grant, reason)),
      ...grants.removed.map((grant) => grantEvent(caller, 'grant.removed', resource, grant, reason)),
    ]);
  };

  return {
    async list(caller, resourceId, query) {
      const resource = await requireOwned(db, caller, resourceId);
      const { rows, total } = await listShares(db, resource.resourceId, query);
      return pageOf(query, rows, total);
    },

    put: (caller, path, wanted) =>
      db.transaction(async (tx) => {
        const resource = await lockOwned(tx, caller, path.resourceId);
        const organizationId = path.organizationId.toLowerCase();
        refuseOwner(resource, organizationId);
        const usable = resource.scopes.map(({ name }) => name);
        const scopes = requireScopes(wanted.scopes, usable, 'resource');
        const before = await findShare(tx, resource.resourceId, organizationId);
        if (!before) await requireOrganization(tx, organizationId);
        const held = before?.scopes ?? [];
        const lost = held.filter((name) => !scopes.includes(name));
        const widens = scopes.some((name) => !held.includes(name));
        if (before && !widens && lost.length === 0) return before;
        if (widens) refuseBorrowedSharing(caller);
        const now = isoTime(clock);
        const { resourceId } = resource;
        const share = {
          resourceId,
          organizationId,
          scopes,
          createdAt: before?.createdAt ?? now,
          updatedAt: now,
        };
        await apply(tx, caller, resource, share, lost);
        return share;
      }),

    remove: (caller, path) =>
      db.transaction(async (tx) => {
        const resource = await lockOwned(tx, caller, path.resourceId);
        const [share] = await deleteShares(tx, resource.resourceId, path.organizationId);
        if (!share) fail('SHARE_NOT_FOUND');
        const { organizationId } = share;
        const { removed: grants } = await revokeGrants(tx, caller, resource, { organizationId });
        const reason = 'resource.unshared';
        await ledger.recordAll(tx, [
          ...shareEvents(caller, reason, resource, share),
          ...grants.map((grant) => grantEvent(caller, 'grant.removed', resource, grant, reason)),
        ]);
      }),
  };
}

function refuseOwner(resource: Resource, organizationId: string): void {
  if (resource.organizationId !== organizationId) return;
  const message = 'owns the resource; it has all of its scopes already';
  throw validationError('path', [{ in: 'path', field: 'organizationId', message }]);
}

const refuseBorrowedSharing = (caller: Caller): void =>
  refuseBorrowedScope(
    caller,
    'resources:write',
    'A delegated token can share scopes with another organization only if your own agent may hold resources:write.',
  );
