/** Reads and writes `approvals`; reads who may decide: people, the approvers of resources, and the approval policy. */
import type { AuthorizationDetails } from '../../contract/authorization-details.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { type Sql, sql } from '../../kernel/data/sql.ts';
import { offsetOf, type PageRequest } from '../../kernel/http/page.ts';
import type { ApprovalStatus } from './schema.ts';

/** The approval of one person. Where two must approve, the last of them makes the delegation. */
export interface Support {
  readonly personId: string;
  readonly at: string;
  readonly scopes: readonly string[];
  readonly accessExpiresIn: number;
  readonly allowRedelegation: boolean;
}

/** The request itself: as it was made, or narrowed by a decision. */
export interface ApprovalTerms {
  readonly approvalId: string;
  readonly organizationId: string;
  readonly agentId: string;
  readonly audience: string;
  /** Null: our own API. */
  readonly resourceId: string | null;
  readonly scopes: string[];
  readonly authorizationDetails: AuthorizationDetails | null;
  readonly bindingMessage: string | null;
  /** Null: every approver is asked. */
  readonly personId: string | null;
  readonly accessExpiresIn: number;
  readonly createdAt: string;
  readonly expiresAt: string;
}

export interface StoredApproval extends ApprovalTerms {
  /** Null: our own API. */
  readonly resourceName: string | null;
  /** A request that has lapsed is `expired`, also before the loop has found it. */
  readonly status: ApprovalStatus;
  readonly support: readonly Support[];
  readonly requiresTwo: boolean;
  readonly decidedBy: string | null;
  readonly decidedAt: string | null;
  readonly chainId: string | null;
  readonly hasPing: boolean;
}

export interface NewApproval extends ApprovalTerms {
  readonly authReqHash: Buffer;
  readonly pollSeconds: number;
  /** Encrypted; see the migration. */
  readonly ping: string | null;
}

/** Of the approval `a`, with the policy `p` of its organization. An API has one of both spellings: with a slash at the end, or without. */
const requiresTwo = sql`
  coalesce(p.require_two && array[rtrim(a.audience, '/'), rtrim(a.audience, '/') || '/'], false)`;

/** Of the approval `a`. A deleted resource has only its identifier once another is registered with it. */
export const resourceName = sql`
  case when a.resource_id is not null
    then coalesce((select named.name from resources named where named.resource_id = a.resource_id), a.audience) end`;

const statusAt = (now: Date): Sql =>
  sql`case when a.status = 'pending' and a.expires_at <= ${now} then 'expired' else a.status end`;

const columns = (now: Date): Sql => sql`
  a.approval_id as "approvalId", a.organization_id as "organizationId", a.agent_id as "agentId", a.audience,
  a.resource_id as "resourceId", ${resourceName} as "resourceName", a.scopes,
  a.authorization_details as "authorizationDetails", a.binding_message as "bindingMessage", a.person_id as "personId",
  a.access_seconds as "accessExpiresIn", ${statusAt(now)} as status, a.approvals as support,
  ${requiresTwo} as "requiresTwo", a.decided_by as "decidedBy", a.decided_at as "decidedAt", a.chain_id as "chainId",
  a.ping is not null as "hasPing", a.created_at as "createdAt", a.expires_at as "expiresAt"`;

const withPolicy = sql`approvals a left join approval_policies p on p.organization_id = a.organization_id`;

export async function insertApproval(tx: Queryable, approval: NewApproval): Promise<void> {
  const details = approval.authorizationDetails;
  await tx.run(
    'approvals.insert',
    sql`insert into approvals
          (approval_id, auth_req_hash, organization_id, agent_id, audience, resource_id, scopes, authorization_details,
           binding_message, person_id, access_seconds, status, ping, poll_seconds, created_at, expires_at)
        values
          (${approval.approvalId}, ${approval.authReqHash}, ${approval.organizationId}, ${approval.agentId},
           ${approval.audience}, ${approval.resourceId}, ${approval.scopes}, ${details && JSON.stringify(details)}::jsonb,
           ${approval.bindingMessage}, ${approval.personId}, ${approval.accessExpiresIn}, 'pending', ${approval.ping},
           ${approval.pollSeconds}, ${approval.createdAt}, ${approval.expiresAt})`,
  );
}

/** Requests that wait for a decision. */
export const countOpen = (
  tx: Queryable,
  organizationId: string,
  agentId: string,
  now: Date,
): Promise<{ ofAgent: number; ofOrganization: number }> =>
  tx.one(
    'approvals.countOpen',
    sql`select count(*) filter (where agent_id = ${agentId}) as "ofAgent", count(*) as "ofOrganization"
        from approvals where organization_id = ${organizationId} and status = 'pending' and expires_at > ${now}`,
  );

export const findApproval = (
  db: Queryable,
  approvalId: string,
  now: Date,
): Promise<StoredApproval | undefined> =>
  db.maybe(
    'approvals.find',
    sql`select ${columns(now)} from ${withPolicy} where a.approval_id = ${approvalId}`,
  );

export const lockApproval = (
  tx: Queryable,
  approvalId: string,
  now: Date,
): Promise<StoredApproval | undefined> =>
  tx.maybe(
    'approvals.lock',
    sql`select ${columns(now)} from ${withPolicy} where a.approval_id = ${approvalId} for update of a`,
  );

/** For the token endpoint. */
export interface RedeemableApproval
  extends Pick<StoredApproval, 'approvalId' | 'agentId' | 'audience' | 'scopes' | 'status' | 'chainId'> {
  readonly pollSeconds: number;
  readonly polledAt: string | null;
  readonly redeemedAt: string | null;
}

export const lockByAuthReqId = (
  tx: Queryable,
  authReqHash: Buffer,
  now: Date,
): Promise<RedeemableApproval | undefined> =>
  tx.maybe(
    'approvals.lockByAuthReqId',
    sql`select a.approval_id as "approvalId", a.agent_id as "agentId", a.audience, a.scopes, ${statusAt(now)} as status,
          a.chain_id as "chainId", a.poll_seconds as "pollSeconds", a.polled_at as "polledAt",
          a.redeemed_at as "redeemedAt"
        from approvals a where a.auth_req_hash = ${authReqHash} for update`,
  );

export async function markPolled(
  tx: Queryable,
  approvalId: string,
  now: Date,
  pollSeconds: number,
): Promise<void> {
  await tx.run(
    'approvals.markPolled',
    sql`update approvals set polled_at = ${now}, poll_seconds = ${pollSeconds} where approval_id = ${approvalId}`,
  );
}

export async function markRedeemed(tx: Queryable, approvalId: string, now: Date): Promise<void> {
  await tx.run(
    'approvals.markRedeemed',
    sql`update approvals set redeemed_at = ${now} where approval_id = ${approvalId}`,
  );
}

export async function updateSupport(
  tx: Queryable,
  approvalId: string,
  support: readonly Support[],
): Promise<void> {
  await tx.run(
    'approvals.updateSupport',
    sql`update approvals set approvals = ${JSON.stringify(support)}::jsonb where approval_id = ${approvalId}`,
  );
}

export interface Outcome {
  readonly status: Exclude<ApprovalStatus, 'pending'>;
  readonly decidedBy: string | null;
  readonly decidedAt: string;
  /** Of an approval. */
  readonly granted?: {
    readonly chainId: string;
    readonly scopes: readonly string[];
    readonly accessExpiresIn: number;
    readonly support: readonly Support[];
  };
}

export async function updateOutcome(
  tx: Queryable,
  approvalId: string,
  { status, decidedBy, decidedAt, granted }: Outcome,
): Promise<void> {
  await tx.run(
    'approvals.updateOutcome',
    sql`update approvals
        set status = ${status}, decided_by = ${decidedBy}, decided_at = ${decidedAt},
            chain_id = ${granted?.chainId ?? null}, scopes = coalesce(${granted?.scopes ?? null}::text[], scopes),
            access_seconds = coalesce(${granted?.accessExpiresIn ?? null}::int, access_seconds),
            approvals = coalesce(${granted ? JSON.stringify(granted.support) : null}::jsonb, approvals)
        where approval_id = ${approvalId}`,
  );
}

/** Locked; those that another transaction decides are left out. */
export const lockLapsed = (tx: Queryable, now: Date, atMost: number): Promise<StoredApproval[]> =>
  tx.many(
    'approvals.lockLapsed',
    sql`select ${columns(now)} from ${withPolicy}
        where a.status = 'pending' and a.expires_at <= ${now}
        order by a.expires_at limit ${atMost} for update of a skip locked`,
  );

export const lockOpenOfAgent = (tx: Queryable, agentId: string, now: Date): Promise<StoredApproval[]> =>
  tx.many(
    'approvals.lockOpenOfAgent',
    sql`select ${columns(now)} from ${withPolicy}
        where a.agent_id = ${agentId} and a.status = 'pending' and a.expires_at > ${now}
        order by a.approval_id for update of a`,
  );

interface ListFilter {
  /** Undefined: of every organization. */
  readonly organizationId: string | undefined;
  readonly status?: ApprovalStatus | undefined;
  readonly agentId?: string | undefined;
}

const all = sql`true`;

export async function listApprovals(
  db: Queryable,
  { organizationId, status, agentId }: ListFilter,
  query: PageRequest,
  now: Date,
): Promise<{ rows: StoredApproval[]; total: number }> {
  const matches = sql`${organizationId === undefined ? all : sql`a.organization_id = ${organizationId}`}
    and ${statusIs(status, now)} and ${agentId === undefined ? all : sql`a.agent_id = ${agentId}`}`;
  const rows = await db.many<StoredApproval>(
    'approvals.list',
    sql`select ${columns(now)} from ${withPolicy} where ${matches}
        order by a.created_at desc, a.approval_id desc limit ${query.limit} offset ${offsetOf(query)}`,
  );
  const { total } = await db.one<{ total: number }>(
    'approvals.total',
    sql`select count(*) as total from approvals a where ${matches}`,
  );
  return { rows, total };
}

const statusIs = (status: ApprovalStatus | undefined, now: Date): Sql => {
  switch (status) {
    case undefined:
      return all;
    case 'pending':
      return sql`a.status = 'pending' and a.expires_at > ${now}`;
    case 'expired':
      return sql`(a.status = 'expired' or a.status = 'pending' and a.expires_at <= ${now})`;
    default:
      return sql`a.status = ${status}`;
  }
};

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

/** Returns how many were deleted. */
export const deleteDecided = (db: Queryable, before: Date, atMost: number): Promise<number> =>
  db.run(
    'approvals.deleteDecided',
    sql`delete from approvals where ctid = any (array(
          select ctid from approvals where status <> 'pending' and expires_at < ${before} limit ${atMost}
          for update skip locked))`,
  );
