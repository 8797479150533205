/** Shares, for the organization that receives them: it accepts, declines or leaves them. */

import type { Caller } from '../../../kernel/caller.ts';
import { isoTime } from '../../../kernel/clock.ts';
import type { Queryable, Tx } from '../../../kernel/data/db.ts';
import { lockExclusive } from '../../../kernel/data/locks.ts';
import { fail } from '../../../kernel/fail.ts';
import { type Page, pageOf } from '../../../kernel/http/page.ts';
import { grantEvent, shareEvents } from '../events.ts';
import type { ResourceDeps } from '../feature.ts';
import type { RevokeGrants } from '../granting-rule.ts';
import { findResource } from '../store.ts';
import { findOffer, upsertOffer } from './offers-store.ts';
import type { ReceivedShare, ReceivedShareQuery } from './share-schema.ts';
import { deleteShares, findReceivedShare, listReceivedShares, upsertShare } from './shares-store.ts';

/** For the organization that resources are shared with. */
export interface ReceivedShareService {
  list(caller: Caller, query: ReceivedShareQuery): Promise<Page<ReceivedShare>>;
  accept(caller: Caller, resourceId: string): Promise<ReceivedShare>;
  /** Declines an offer, or leaves a share. */
  decline(caller: Caller, resourceId: string): Promise<void>;
}

export function createReceivedShareService(
  { db, clock, ledger }: Pick<ResourceDeps, 'db' | 'clock' | 'ledger'>,
  revokeGrants: RevokeGrants,
): ReceivedShareService {
  const find = async (from: Queryable, { organizationId }: Caller, resourceId: string) =>
    (await findReceivedShare(from, organizationId, resourceId)) ?? fail('SHARE_NOT_FOUND');

  /** Read first: a caller cannot lock resources that it is not offered. */
  const lock = async (tx: Tx, caller: Caller, requestedId: string) => {
    const { resourceId } = await find(tx, caller, requestedId);
    await lockExclusive(tx, 'resource', [resourceId]);
    const share = await find(tx, caller, resourceId);
    const resource = (await findResource(tx, undefined, resourceId)) ?? fail('SHARE_NOT_FOUND');
    return { share, resource };
  };

  return {
    async list(caller, query) {
      const { rows, total } = await listReceivedShares(db, caller.organizationId, query);
      return pageOf(query, rows, total);
    },

    accept: (caller, requestedId) =>
      db.transaction(async (tx) => {
        const { share, resource } = await lock(tx, caller, requestedId);
        if (share.offeredScopes.length === 0) return share;
        const { resourceId } = resource;
        const { organizationId } = caller;
        const now = isoTime(clock);
        const accepted = [...share.scopes, ...share.offeredScopes];
        const scopes = resource.scopes.map(({ name }) => name).filter((name) => accepted.includes(name));
        const { createdAt } = share;
        await upsertShare(tx, { resourceId, organizationId, scopes, createdAt, updatedAt: now });
        const offer = await findOffer(tx, resourceId, organizationId);
        if (offer) await upsertOffer(tx, { ...offer, scopes: [], updatedAt: now });
        const type = 'share.accepted';
        const inForce = { organizationId, scopes };
        await ledger.recordAll(tx, [
          ...shareEvents(caller, type, resource, inForce),
          ...shareEvents(caller, 'resource.shared', resource, inForce, type),
        ]);
        return { ...share, scopes, offeredScopes: [], status: 'accepted', updatedAt: now };
      }),

    decline: (caller, requestedId) =>
      db.transaction(async (tx) => {
        const { share, resource } = await lock(tx, caller, requestedId);
        const { resourceId } = resource;
        const { organizationId } = caller;
        const now = isoTime(clock);
        const offer = await findOffer(tx, resourceId, organizationId);
        await upsertOffer(tx, {
          resourceId,
          organizationId,
          ownerId: resource.organizationId,
          createdAt: now,
          announcedAt: null,
          ...offer,
          scopes: [],
          updatedAt: now,
          declinedAt: now,
        });
        await deleteShares(tx, resourceId, organizationId);
        const { removed: grants } = await revokeGrants(tx, caller, resource, { organizationId });
        const type = 'share.declined';
        const { scopes, offeredScopes } = share;
        await ledger.recordAll(tx, [
          ...shareEvents(caller, type, resource, {
            organizationId,
            scopes: share.status === 'accepted' ? scopes : [],
            offeredScopes,
          }),
          ...grants.map((grant) => grantEvent(caller, 'grant.removed', resource, grant, type)),
        ]);
      }),
  };
}
