/**
 * What people may lend at a resource: its `people_scopes`; every scope for those in `approvers` and for admins; of a shared resource no more
 * than the share.
 */
import type { AuthorizationDetailType } from '../../contract/authorization-details.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { sql } from '../../kernel/data/sql.ts';
import { resourceOf, shownIdentifier } from './names-store.ts';

/** The share `s` of the resource `r` with the organization of the person `p`. */
export const shareWithPerson = sql`
  left join resource_shares s on s.resource_id = r.resource_id and s.organization_id = p.organization_id`;

/**
 * Of the person `p`, the resource `r` and the share `s`, in the form of a grant. Without times: a person lends what the person may lend
 * now.
 */
export const lentByPerson = sql`
  (select coalesce(jsonb_object_agg(scope.name, '1970-01-01T00:00:00.000Z'), '{}')
   from jsonb_to_recordset(r.scopes) as scope (name text)
   where p.status = 'active'
     and (p.role = 'admin' or p.person_id = any (r.approvers) or scope.name = any (r.people_scopes))
     and (r.organization_id = p.organization_id or scope.name = any (s.scopes)))`;

/** A registered resource, and the organizations whose people may lend there. */
export interface LendingTarget {
  readonly resourceId: string;
  readonly identifier: string;
  readonly name: string;
  readonly ownerId: string;
  /** The owner first, then those that accepted a share. */
  readonly organizationIds: readonly string[];
  readonly scopes: readonly { readonly name: string; readonly description: string | null }[];
  readonly authorizationDetailTypes: readonly AuthorizationDetailType[];
  /** People of the owner who may lend every scope. */
  readonly approvers: readonly string[];
}

/**
 * Undefined when no resource has the identifier, or when it, its owner or its host is not usable. The organization is for loopback
 * identifiers, of which each organization may have its own.
 */
export const findLendingTarget = (
  db: Queryable,
  audience: string,
  organizationId?: string,
): Promise<LendingTarget | undefined> =>
  db.maybe(
    'resources.findLendingTarget',
    sql`select r.resource_id as "resourceId", ${shownIdentifier} as identifier, r.name, r.organization_id as "ownerId", r.scopes,
          r.authorization_detail_types as "authorizationDetailTypes", r.approvers,
          array[r.organization_id] || array(
            select s.organization_id from resource_shares s join organizations o using (organization_id)
            where s.resource_id = r.resource_id and o.status = 'active' order by s.created_at, s.organization_id)
            as "organizationIds"
        from (select ${organizationId ?? null}::text as organization_id) asking
          join ${resourceOf(sql`${audience}::text`, sql`coalesce(asking.organization_id, '')`)}
          join organizations owner on owner.organization_id = r.organization_id and owner.status = 'active'
        where r.deleted_at is null`,
  );

/** Of these, the ids of people of the organization. */
export async function findPeopleOf(
  db: Queryable,
  organizationId: string,
  personIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (personIds.length === 0) return new Set();
  const rows = await db.many<{ personId: string }>(
    'resources.findPeopleOf',
    sql`select person_id as "personId" from people
        where organization_id = ${organizationId} and person_id = any(${personIds}::uuid[])`,
  );
  return new Set(rows.map(({ personId }) => personId));
}
