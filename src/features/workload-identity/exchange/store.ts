/** Queries of the exchange: candidate policies for a token, tokens that were used, and the last use of a policy. */
import type { Queryable, Tx } from '../../../kernel/data/db.ts';
import { prepared, sql } from '../../../kernel/data/sql.ts';
import { nilUuid } from '../../../kernel/ids.ts';
import { fromPolicies, policyColumns } from '../policies/store.ts';
import type { TrustPolicy } from '../schema.ts';
import type { SingleUseKeys } from './single-use-keys.ts';

/** `rank`: the position among its organization's policies, 1 for the oldest. */
export type RankedPolicy = TrustPolicy & {
  readonly rank: number;
  /** Of its agent. */
  readonly rateLimitPerMinute: number | null;
};

const rateLimit = sql`(select rate_limit_per_minute from agents where agents.agent_id = p.agent_id) as "rateLimitPerMinute"`;

/** Policies of one agent for one issuer, oldest first. Without an issuer: those for SPIFFE. */
export const findPoliciesOfAgent = (
  db: Queryable,
  issuer: string | undefined,
  agentId: string,
  limit: number,
): Promise<RankedPolicy[]> =>
  db.many(
    'oidc.findPoliciesOfAgent',
    sql`select ${policyColumns}, ${rateLimit}, row_number() over (order by p.created_at, p.policy_id) as rank
        ${fromPolicies}
        where ${issuer === undefined ? sql`p.provider = 'spiffe'` : sql`p.issuer = ${issuer}`} and p.agent_id = ${agentId}
        order by p.created_at, p.policy_id limit ${limit}`,
  );

/** The issuers of the policies for SPIFFE whose subject prefix is one of these: the first of each organization, then the second of each. */
export async function findSpiffeIssuers(
  db: Queryable,
  prefixes: readonly string[],
  limit: number,
): Promise<string[]> {
  const rows = await db.many<{ issuer: string }>(
    'oidc.findSpiffeIssuers',
    sql`select issuer from (
          select issuer, dense_rank() over (partition by organization_id order by issuer) as place from trust_policies
          where provider = 'spiffe' and subject_head = any(${prefixes}::text[])) as named
        group by issuer order by min(place), issuer limit ${limit}`,
  );
  return rows.map(({ issuer }) => issuer);
}

/** Bounds of the index scan: organizations visited, and policies of each whose audiences are compared. */
const maxOrganizations = 5_000;
const maxScannedPerOrganization = 500;

/**
 * Policies for the issuer whose subject prefix is one of these, disabled ones included, of active agents in active organizations.
 * Ordered fairly: the oldest of each organization, then the second of each, and so on. The recursive query skips along the index
 * from one organization to the next, so a hundred thousand policies of one organization delay no other. It compares rows, not
 * columns, because only this index has that order; with another index PostgreSQL might read all policies of an organization.
 */
export const findPoliciesByPrefix = (
  db: Queryable,
  issuer: string,
  { prefixes, audiences }: { prefixes: readonly string[]; audiences: readonly string[] },
  { perOrganization, total }: { perOrganization: number; total: number },
): Promise<RankedPolicy[]> =>
  db.many(
    'oidc.findPoliciesByPrefix',
    sql`with recursive visited (head, organization_id) as (
          select head, ${nilUuid}::uuid from unnest(${prefixes}::text[]) as h (head)
          union all
          select visited.head, next.organization_id
          from visited cross join lateral (
            select issuer, subject_head, organization_id from trust_policies
            where (issuer, subject_head, organization_id) > (${issuer}, visited.head, visited.organization_id)
            order by issuer, subject_head, organization_id limit 1) next
          where next.issuer = ${issuer} and next.subject_head = visited.head
        ),
        ranked as (
          select oldest.policy_id,
            row_number() over (partition by oldest.organization_id order by oldest.created_at, oldest.policy_id) as rank
          from (select head, organization_id from visited limit ${maxOrganizations}) o
          join organizations using (organization_id)
          cross join lateral (
            select policy_id, organization_id, agent_id, created_at, audiences from trust_policies
            where (issuer, subject_head, organization_id) >= (${issuer}, o.head, o.organization_id)
              and (issuer, subject_head, organization_id) <= (${issuer}, o.head, o.organization_id)
            order by issuer, subject_head, organization_id, created_at, policy_id limit ${maxScannedPerOrganization}) oldest
          join agents a on a.agent_id = oldest.agent_id
          where organizations.status = 'active' and a.status = 'active' and oldest.audiences && ${audiences}::text[]
        )
        select ${policyColumns}, ${rateLimit}, ranked.rank
        from ranked join trust_policies p using (policy_id) left join trust_policy_uses u using (policy_id)
        where ranked.rank <= ${perOrganization}
        order by ranked.rank, p.created_at, p.policy_id limit ${total}`,
  );

/**
 * False when the token was used before, under either key; the caller must then roll back, since the other key may have been
 * written. Concurrent calls wait for the first. All insert the keys in this order, so no two deadlock.
 */
export async function markTokenUsed(
  tx: Queryable,
  { byKeySet, byOrganization }: SingleUseKeys,
  expiresAt: string,
): Promise<boolean> {
  const inserted = await tx.run(
    'oidc.markTokenUsed',
    sql`insert into used_outside_tokens (token_key, expires_at)
        values (${byKeySet}, ${expiresAt}), (${byOrganization}, ${expiresAt})
        on conflict (token_key) do nothing`,
  );
  return inserted === 2;
}

export async function isUsed(db: Queryable, { byKeySet, byOrganization }: SingleUseKeys): Promise<boolean> {
  const row = await db.maybe(
    'oidc.isUsed',
    prepared(
      sql`select 1 from used_outside_tokens where token_key in (${byKeySet}, ${byOrganization}) limit 1`,
    ),
  );
  return row !== undefined;
}

/** Returns the number of deleted rows. */
export const deleteExpiredTokens = (db: Queryable, before: Date, atMost: number): Promise<number> =>
  db.run(
    'oidc.deleteExpiredTokens',
    sql`delete from used_outside_tokens where ctid = any (array(
          select ctid from used_outside_tokens where expires_at < ${before} limit ${atMost} for update skip locked))`,
  );

/** Throttled to one write a minute for each policy. */
export function recordPolicyUse(tx: Tx, policyId: string, now: string): void {
  tx.atCommit(
    'oidc.recordPolicyUse',
    sql`insert into trust_policy_uses as u (policy_id, last_used_at)
        values (${policyId}::uuid, ${now}::timestamptz)
        on conflict (policy_id) do update set last_used_at = excluded.last_used_at
        where u.last_used_at < excluded.last_used_at - interval '1 minute'`,
  );
}
