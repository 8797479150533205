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
  readonly tokenLifetimeSeconds: number;
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
          r.token_lifetime_seconds as "tokenLifetimeSeconds", array[r.organization_id] || array(
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

/** A person with a live chain for a resource, and the scopes that the person may lend there now. */
interface LentScopes {
  readonly personId: string;
  readonly organizationId: string;
  readonly ownerId: string;
  readonly identifier: string;
  readonly scopes: readonly string[];
}

/** The people at a resource, or one person. `organizationId`: of a share that may have ended. */
export type Lending =
  | { readonly resourceId: string; readonly organizationId?: string }
  | { readonly personId: string };

export type FindLending = (db: Queryable, which: readonly Lending[], now: Date) => Promise<LentScopes[]>;

/** The people who lend at the resources, and the resources at which the people lend. Nothing of our own API. */
export function findLending(db: Queryable, which: readonly Lending[], now: Date): Promise<LentScopes[]> {
  const personIds = which.flatMap((one) => ('personId' in one ? [one.personId] : []));
  const atResources = which.filter((one) => 'resourceId' in one);
  const resourceIds = atResources.map(({ resourceId }) => resourceId);
  const organizationIds = atResources.flatMap(({ organizationId }) => organizationId ?? []);
  return db.many(
    'resources.findLending',
    sql`with asked as materialized (
          select r.resource_id, r.organization_id, ${shownIdentifier} as audience from resources r
          where r.resource_id = any(${resourceIds}::uuid[])
        ), concerned as materialized (
          select organization_id from asked
          union select s.organization_id from resource_shares s join asked using (resource_id)
          union select unnest(${organizationIds}::uuid[])
        )
        select p.person_id as "personId", p.organization_id as "organizationId", r.organization_id as "ownerId",
          lent.audience as identifier,
          array(select jsonb_object_keys(case when r.deleted_at is null then ${lentByPerson} else '{}' end)) as scopes
        from people p
          join lateral (
            select distinct unnest(d.resource) as audience from delegations d
            where d.subject_type = 'person' and d.subject_id = p.person_id and d.revoked_at is null and d.expires_at > ${now}
          ) lent on p.person_id = any(${personIds}::uuid[]) or lent.audience in (select audience from asked)
          join ${resourceOf(sql`lent.audience`, sql`p.organization_id::text`)}
          ${shareWithPerson}
        where (p.person_id = any(${personIds}::uuid[]) or p.organization_id = any(array(select organization_id from concerned)))
          and (p.person_id = any(${personIds}::uuid[]) or r.resource_id in (select resource_id from asked))`,
  );
}
