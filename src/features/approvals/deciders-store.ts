/** Reads who decides about an approval: people, the approvers of resources, and the approval policy. */
import type { Queryable } from '../../kernel/data/db.ts';
import { type Sql, sql } from '../../kernel/data/sql.ts';
import { offsetOf, type PageRequest } from '../../kernel/http/page.ts';
import type { ApprovalStatus } from './schema.ts';
import { columns, requiresTwo, type StoredApproval, statusIs } from './store.ts';

/**
 * Whether the person `me` is among those who decide for all: the approvers of the resource `r`, or the admins where it has none. Of a
 * resource that another organization shares, its approvers are people of that organization, so the admins decide.
 */
const isApprover = sql`
  case when r.organization_id = a.organization_id and cardinality(r.approvers) > 0
    then me.person_id = any (r.approvers) else me.role = 'admin' end`;

/** Whether the person `me` decides about the approval `a`: by name; as an approver; where two people must approve, the approvers as well. */
const isDecider = sql`
  (a.person_id = me.person_id or (a.person_id is null or ${requiresTwo}) and ${isApprover})`;

/** Whether the person `me` sees the approval `a`: those who decide about it, and those who have. */
const isAddressed = sql`
  (${isDecider}
   or a.decided_by = me.person_id
   or a.approvals @> jsonb_build_array(jsonb_build_object('personId', me.person_id)))`;

const addressedTo = (personId: string): Sql => sql`
  (select person_id, organization_id, role from people where person_id = ${personId} and status = 'active') me
  join approvals a on a.organization_id = me.organization_id
  left join approval_policies p on p.organization_id = a.organization_id
  left join resources r on r.resource_id = a.resource_id`;

export interface StoredAddressedApproval extends StoredApproval {
  readonly agentName: string;
  readonly agentOwner: string;
  /** Null: our own API. */
  readonly resourceScopes: readonly { readonly name: string; readonly description: string | null }[] | null;
}

const addressedColumns = (
  now: Date,
): Sql => sql`${columns(now)}, g.email as "agentName", g.owner as "agentOwner",
  r.scopes as "resourceScopes"`;

export async function listAddressed(
  db: Queryable,
  personId: string,
  query: PageRequest & { readonly status?: ApprovalStatus | undefined },
  now: Date,
): Promise<{ rows: StoredAddressedApproval[]; total: number }> {
  const matches = sql`${isAddressed} and ${statusIs(query.status, now)}`;
  const rows = await db.many<StoredAddressedApproval>(
    'approvals.listAddressed',
    sql`select ${addressedColumns(now)} from ${addressedTo(personId)} join agents g on g.agent_id = a.agent_id
        where ${matches}
        order by a.created_at desc, a.approval_id desc limit ${query.limit} offset ${offsetOf(query)}`,
  );
  const { total } = await db.one<{ total: number }>(
    'approvals.totalAddressed',
    sql`select count(*) as total from ${addressedTo(personId)} where ${matches}`,
  );
  return { rows, total };
}

export const findAddressed = (
  db: Queryable,
  personId: string,
  approvalId: string,
  now: Date,
): Promise<StoredAddressedApproval | undefined> =>
  db.maybe(
    'approvals.findAddressed',
    sql`select ${addressedColumns(now)} from ${addressedTo(personId)} join agents g on g.agent_id = a.agent_id
        where a.approval_id = ${approvalId} and ${isAddressed}`,
  );

/** Of these people, those who decide about the request now. */
export async function findDeciders(
  tx: Queryable,
  approvalId: string,
  personIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await tx.many<{ personId: string }>(
    'approvals.findDeciders',
    sql`select me.person_id as "personId"
        from approvals a
          join people me on me.organization_id = a.organization_id and me.status = 'active'
          left join approval_policies p on p.organization_id = a.organization_id
          left join resources r on r.resource_id = a.resource_id
        where a.approval_id = ${approvalId} and me.person_id = any (${personIds}::uuid[]) and ${isDecider}`,
  );
  return new Set(rows.map(({ personId }) => personId));
}

/** The active people of the organization whom `approvers` means for the resource. */
export async function findApprovers(
  db: Queryable,
  organizationId: string,
  resourceId: string | null,
): Promise<readonly string[]> {
  const rows = await db.many<{ personId: string }>(
    'approvals.findApprovers',
    sql`select me.person_id as "personId"
        from (select ${organizationId}::uuid as organization_id, ${resourceId}::uuid as resource_id) a
          left join resources r on r.resource_id = a.resource_id
          join people me on me.organization_id = a.organization_id
        where me.status = 'active' and me.issuer is not null and ${isApprover}
        order by me.person_id`,
  );
  return rows.map(({ personId }) => personId);
}

/** An active person of the organization, by id or by verified e-mail; undefined when there is none, or more than one has the address. */
export async function findByLoginHint(
  db: Queryable,
  organizationId: string,
  hint: { readonly personId: string } | { readonly email: string },
): Promise<string | undefined> {
  const matches =
    'personId' in hint ? sql`person_id = ${hint.personId}` : sql`lower(email) = lower(${hint.email})`;
  const [first, second] = await db.many<{ personId: string }>(
    'approvals.findByLoginHint',
    sql`select person_id as "personId" from people
        where organization_id = ${organizationId} and status = 'active' and issuer is not null and ${matches} limit 2`,
  );
  return second ? undefined : first?.personId;
}

/** Whether two records are of one person: people of two connections may have the same verified e-mail. */
export async function isSamePerson(tx: Queryable, personId: string, otherId: string): Promise<boolean> {
  const { same } = await tx.one<{ same: boolean }>(
    'approvals.isSamePerson',
    sql`select exists (
          select from people me, people other
          where me.person_id = ${personId} and other.person_id = ${otherId} and ${isSame}) as same`,
  );
  return same;
}

const isSame = sql`(other.person_id = me.person_id or lower(other.email) = lower(me.email))`;

/** Whether the person registered the agent through the console, or is its owner by verified e-mail. */
export async function isOwnAgent(tx: Queryable, personId: string, agentId: string): Promise<boolean> {
  const { own } = await tx.one<{ own: boolean }>(
    'approvals.isOwnAgent',
    sql`select exists (
          select from agents g, people me
          where g.agent_id = ${agentId} and me.person_id = ${personId}
            and (lower(g.owner) = lower(me.email)
              or exists (select from people other where other.person_id = g.registered_by and ${isSame}))) as own`,
  );
  return own;
}
