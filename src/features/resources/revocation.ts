/**
 * Removes and narrows grants. The caller needs the right to make the grants that end. Otherwise it could remove a grant, give the agent a
 * secret while nothing forbids it, and wait until the grant is made again.
 */
import type { Caller } from '../../kernel/caller.ts';
import type { Tx } from '../../kernel/data/db.ts';
import type { RefuseGranting } from './granting-rule.ts';
import { deleteGrants, type GrantSelection, narrowGrants, type StoredGrant } from './grants-store.ts';
import type { Resource } from './schema.ts';

interface Revocation extends Omit<GrantSelection, 'resourceId'> {
  /** The scopes to take away and the time; otherwise the grants are removed. */
  readonly narrow?: { readonly scopes: readonly string[]; readonly now: string };
  /** The scopes that the caller can take away by a grant of its own. */
  readonly ownScopes?: readonly string[];
}

export type RevokeGrants = (
  tx: Tx,
  caller: Caller,
  resource: Pick<Resource, 'resourceId' | 'organizationId' | 'identifier' | 'claims'>,
  revocation: Revocation,
) => Promise<{ changed: StoredGrant[]; removed: StoredGrant[] }>;

export const createRevocation =
  (refuseGranting: RefuseGranting): RevokeGrants =>
  async (tx, caller, resource, { narrow, ownScopes = [], ...selected }) => {
    const { resourceId, organizationId: ownerId, identifier, claims } = resource;
    const selection = { resourceId, ...selected };
    const revoked = narrow
      ? await narrowGrants(tx, selection, narrow.scopes, narrow.now)
      : { changed: [], removed: await deleteGrants(tx, selection) };
    const all = [...revoked.changed, ...revoked.removed];
    // A refusal rolls the transaction back.
    for (const organizationId of new Set(all.map((grant) => grant.organizationId))) {
      const removed = revoked.removed.filter((grant) => grant.organizationId === organizationId);
      const scopes = narrow?.scopes ?? [...new Set(removed.flatMap(({ held }) => Object.keys(held)))];
      await refuseGranting(tx, caller, organizationId, [{ identifier, ownerId, scopes, ownScopes, claims }]);
    }
    return revoked;
  };
