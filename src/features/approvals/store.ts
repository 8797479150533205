/** Reads and writes `approvals`. Who may decide is in deciders-store.ts. */
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
export const requiresTwo = sql`
  coalesce(p.require_two && array[rtrim(a.audience, '/'), rtrim(a.audience, '/') || '/'], false)`;

/** Of the approval `a`. A deleted resource has only its identifier once another is registered with it. */
export const resourceName = sql`
  case when a.resource_id is not null
    then coalesce((select named.name from resources named where named.resource_id = a.resource_id), a.audience) end`;

const statusAt = (now: Date): Sql =>
  sql`case when a.status = 'pending' and a.expires_at <= ${now} then 'expired' else a.status end`;

export const columns = (now: Date): Sql => sql`
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

export const statusIs = (status: ApprovalStatus | undefined, now: Date): Sql => {
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

/** Returns how many were deleted. */
export const deleteDecided = (db: Queryable, before: Date, atMost: number): Promise<number> =>
  db.run(
    'approvals.deleteDecided',
    sql`delete from approvals where ctid = any (array(
          select ctid from approvals where status <> 'pending' and expires_at < ${before} limit ${atMost}
          for update skip locked))`,
  );
