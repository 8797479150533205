/**
 * Shares, for the owner: another organization may grant its agents some of the scopes once it has accepted them. Until then a share gives
 * nothing.
 *
 * One organization cannot fill the log of another. Offers write one event there per owner and identifier, and a limited number per day. Any
 * further event there takes away scopes that the receiver accepted before.
 */

import { limits } from '../../../contract/limits.ts';
import { isLoopback } from '../../../kernel/audience.ts';
import { type Caller, isOperator, refuseBorrowedScope } from '../../../kernel/caller.ts';
import { isoTime } from '../../../kernel/clock.ts';
import type { Tx } from '../../../kernel/data/db.ts';
import { fail } from '../../../kernel/fail.ts';
import { validationError } from '../../../kernel/http/input/validation.ts';
import { type Page, pageOf } from '../../../kernel/http/page.ts';
import { grantEvent, shareEvent, shareEvents } from '../events.ts';
import type { ResourceDeps } from '../feature.ts';
import type { RevokeGrants } from '../granting-rule.ts';
import type { ListQuery, Resource, ScopeNames } from '../schema.ts';
import { lockOwned, requireOwned, requireScopes } from '../visibility.ts';
import { countAnnounced, findOffer, purgeOffers, type StoredOffer, upsertOffer } from './offers-store.ts';
import type { ListedShare, Share } from './share-schema.ts';
import { deleteShares, findShare, listShares, upsertShare } from './shares-store.ts';

interface SharePath {
  readonly resourceId: string;
  readonly organizationId: string;
}

export interface ShareService {
  list(caller: Caller, resourceId: string, query: ListQuery): Promise<Page<ListedShare>>;
  put(caller: Caller, path: SharePath, wanted: ScopeNames): Promise<Share>;
  remove(caller: Caller, path: SharePath): Promise<void>;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

type ShareDeps = Pick<
  ResourceDeps,
  'db' | 'clock' | 'ledger' | 'lockOrganization' | 'organizationOf' | 'resourceIdentifiers'
>;

export function createShareService(
  { db, clock, ledger, lockOrganization, organizationOf, resourceIdentifiers }: ShareDeps,
  revokeGrants: RevokeGrants,
): ShareService {
  const requireOrganization = async (tx: Tx, organizationId: string) => {
    const found = await organizationOf(tx, organizationId);
    if (!found || found.status === 'deleted') fail('ORG_NOT_FOUND');
  };

  const refuseDeclined = (offer: StoredOffer | undefined) => {
    if (!offer?.declinedAt) return;
    const retryAt = Date.parse(offer.declinedAt) + limits.share.declinedHours * hourMs;
    if (clock.now() < retryAt)
      fail('SHARE_DECLINED', { details: { retryAt: new Date(retryAt).toISOString() } });
  };

  /** Before the first offer of a resource. The owner is locked until the commit: concurrent offers cannot exceed the limit. */
  const requireOffersLeft = async (tx: Tx, { organizationId: ownerId }: Resource, organizationId: string) => {
    await lockOrganization(tx, ownerId);
    const daysAgo = (days: number) => new Date(clock.now() - days * dayMs).toISOString();
    // By then the receiver's log has dropped the event of the offer.
    await purgeOffers(tx, ownerId, organizationId, daysAgo(limits.auditRetentionDays));
    const limit = limits.share.offersPerDay;
    if ((await countAnnounced(tx, ownerId, organizationId, daysAgo(1))) >= limit)
      fail('SHARE_LIMIT_EXCEEDED', { details: { limit } });
  };

  /** Stores the scopes that wait; returns the events. */
  const offer = async (tx: Tx, caller: Caller, resource: Resource, share: Share, added: string[]) => {
    const { resourceId, organizationId, updatedAt: now } = share;
    const before = await findOffer(tx, resourceId, organizationId);
    const offers = added.length > 0;
    if (offers) refuseDeclined(before);
    const announces = offers && !before?.announcedAt;
    if (announces) await requireOffersLeft(tx, resource, organizationId);
    await upsertOffer(tx, {
      resourceId,
      organizationId,
      ownerId: resource.organizationId,
      scopes: added,
      createdAt: before && before.scopes.length > 0 ? before.createdAt : now,
      updatedAt: now,
      announcedAt: announces ? now : (before?.announcedAt ?? null),
      declinedAt: null,
    });
    const inForce = share.status === 'accepted' ? share.scopes : [];
    const facts = { organizationId, scopes: inForce, offeredScopes: added };
    return [resource.organizationId, ...(announces ? [organizationId] : [])].map((log) =>
      shareEvent(caller, 'share.offered', resource, facts, log),
    );
  };

  /** Takes scopes from an accepted share and its grants, or adds them by an operator; returns the events. */
  const changeInForce = async (
    tx: Tx,
    caller: Caller,
    resource: Resource,
    share: Share,
    lost: readonly string[],
  ) => {
    const { resourceId, organizationId, scopes, updatedAt } = share;
    const remains = share.status === 'accepted';
    if (remains) await upsertShare(tx, share);
    else await deleteShares(tx, resourceId, organizationId);
    const narrow = { scopes: lost, now: updatedAt };
    const grants = await revokeGrants(tx, caller, resource, { organizationId, narrow });
    const reason = remains ? 'resource.shared' : 'resource.unshared';
    return [
      ...shareEvents(caller, reason, resource, { organizationId, scopes: remains ? scopes : [...lost] }),
      ...grants.changed.map((grant) => grantEvent(caller, 'grant.changed', resource, grant, reason)),
      ...grants.removed.map((grant) => grantEvent(caller, 'grant.removed', resource, grant, reason)),
    ];
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
        const scopes = requireScopes(wanted.scopes, usable, 'API');
        const before = await findShare(tx, resource.resourceId, organizationId);
        if (!before) await requireOrganization(tx, organizationId);
        const held = before?.status === 'accepted' ? before.scopes : [];
        const offered = before?.offeredScopes ?? [];
        // An operator acts for both organizations.
        const inForce = isOperator(caller) ? scopes : scopes.filter((name) => held.includes(name));
        const added = scopes.filter((name) => !inForce.includes(name));
        const lost = held.filter((name) => !scopes.includes(name));
        const changesForce = !isSameSet(held, inForce);
        const changesOffer = !isSameSet(offered, added);
        if (before && !changesForce && !changesOffer) return before;
        if (scopes.some((name) => !held.includes(name) && !offered.includes(name))) {
          if (resourceIdentifiers === 'verified') refuseLoopback(resource);
          refuseBorrowedSharing(caller);
        }
        const now = isoTime(clock);
        const isAccepted = inForce.length > 0;
        const share: Share = {
          resourceId: resource.resourceId,
          organizationId,
          scopes: isAccepted ? inForce : added,
          offeredScopes: added,
          status: isAccepted ? 'accepted' : 'offered',
          createdAt: before?.createdAt ?? now,
          updatedAt: now,
        };
        await ledger.recordAll(tx, [
          ...(changesForce ? await changeInForce(tx, caller, resource, share, lost) : []),
          ...(changesOffer ? await offer(tx, caller, resource, share, added) : []),
        ]);
        return share;
      }),

    remove: (caller, path) =>
      db.transaction(async (tx) => {
        const resource = await lockOwned(tx, caller, path.resourceId);
        const { resourceId } = resource;
        const share = await findShare(tx, resourceId, path.organizationId);
        if (!share) fail('SHARE_NOT_FOUND');
        const { organizationId, scopes, status } = share;
        const waiting = await findOffer(tx, resourceId, organizationId);
        if (waiting) await upsertOffer(tx, { ...waiting, scopes: [], updatedAt: isoTime(clock) });
        await deleteShares(tx, resourceId, organizationId);
        const { removed: grants } = await revokeGrants(tx, caller, resource, { organizationId });
        const reason = 'resource.unshared';
        const ended = { organizationId, scopes };
        await ledger.recordAll(tx, [
          // An offer that was never accepted ends without a trace at the other organization.
          ...(status === 'accepted'
            ? shareEvents(caller, reason, resource, ended)
            : [shareEvent(caller, reason, resource, ended, resource.organizationId)]),
          ...grants.map((grant) => grantEvent(caller, 'grant.removed', resource, grant, reason)),
        ]);
      }),
  };
}

const isSameSet = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((name) => others.includes(name));

function refuseOwner(resource: Resource, organizationId: string): void {
  if (resource.organizationId !== organizationId) return;
  const message = 'owns the API; it has all of its scopes already';
  throw validationError('path', [{ in: 'path', field: 'organizationId', message }]);
}

function refuseLoopback({ identifier }: Resource): void {
  if (!isLoopback(identifier)) return;
  const message = "names the client's own machine, which only agents of your organization get tokens for";
  throw validationError('path', [{ in: 'path', field: 'resourceId', message }]);
}

const refuseBorrowedSharing = (caller: Caller): void =>
  refuseBorrowedScope(
    caller,
    'resources:write',
    'A delegated token can share scopes with another organization only if your own agent may hold resources:write.',
  );
