/** Trust policies, when each was used last, and the outside tokens that were exchanged already. */
import type { Queryable, Tx } from '../../../kernel/data/db.ts';
import { lockExclusive, lockShared } from '../../../kernel/data/locks.ts';
import { prepared, sql } from '../../../kernel/data/sql.ts';
import { offsetOf } from '../../../kernel/http/page.ts';
import { nilUuid } from '../../../kernel/ids.ts';
import type { TrustPolicy, TrustPolicyQuery } from '../schema.ts';

const columns = sql`
  p.policy_id as "policyId", p.organization_id as "organizationId", p.agent_id as "agentId", p.name, p.provider,
  p.issuer, p.jwks_uri as "jwksUri", p.audiences, p.subject, p.conditions, p.scopes,
  p.max_token_age_seconds as "maxTokenAgeSeconds", p.single_use as "singleUse", p.status,
  u.last_used_at as "lastUsedAt", p.created_at as "createdAt", p.updated_at as "updatedAt"`;
const from = sql`from trust_policies p left join trust_policy_uses u using (policy_id)`;

/** Undefined is the operator's view: every organization. */
const ofTenant = (organizationId: string | undefined) =>
  organizationId === undefined ? sql`true` : sql`p.organization_id = ${organizationId}`;

/** What the store keeps besides: how a policy is found, and what makes it the same as another. */
export interface Keys {
  readonly subjectHead: string;
  readonly letsIn: Buffer;
}

/** False when the agent has an equal one. */
export async function insertPolicy(tx: Queryable, policy: TrustPolicy, keys: Keys): Promise<boolean> {
  const inserted = await tx.run(
    'oidc.insertPolicy',
    sql`insert into trust_policies
          (policy_id, organization_id, agent_id, name, provider, issuer, jwks_uri, audiences, subject, subject_head,
           conditions, scopes, max_token_age_seconds, single_use, status, lets_in, created_at, updated_at)
        values
          (${policy.policyId}, ${policy.organizationId}, ${policy.agentId}, ${policy.name}, ${policy.provider},
           ${policy.issuer}, ${policy.jwksUri}, ${policy.audiences}, ${policy.subject}, ${keys.subjectHead},
           ${JSON.stringify(policy.conditions)}, ${policy.scopes}, ${policy.maxTokenAgeSeconds}, ${policy.singleUse},
           ${policy.status}, ${keys.letsIn}, ${policy.createdAt}, ${policy.updatedAt})
        on conflict (agent_id, lets_in) do nothing`,
  );
  return inserted === 1;
}

/** Whether the agent has another that lets in the same. */
export async function hasEqual(tx: Queryable, policy: TrustPolicy, { letsIn }: Keys): Promise<boolean> {
  const row = await tx.maybe(
    'oidc.findEqual',
    sql`select 1 from trust_policies
        where agent_id = ${policy.agentId} and lets_in = ${letsIn} and policy_id <> ${policy.policyId}`,
  );
  return row !== undefined;
}

export async function updatePolicy(tx: Queryable, policy: TrustPolicy, keys: Keys): Promise<void> {
  await tx.run(
    'oidc.updatePolicy',
    sql`update trust_policies
        set name = ${policy.name}, issuer = ${policy.issuer}, jwks_uri = ${policy.jwksUri},
            audiences = ${policy.audiences}, subject = ${policy.subject}, subject_head = ${keys.subjectHead},
            conditions = ${JSON.stringify(policy.conditions)}, scopes = ${policy.scopes},
            max_token_age_seconds = ${policy.maxTokenAgeSeconds}, single_use = ${policy.singleUse},
            status = ${policy.status}, lets_in = ${keys.letsIn}, updated_at = ${policy.updatedAt}
        where policy_id = ${policy.policyId}`,
  );
}

export async function deletePolicy(tx: Queryable, policyId: string): Promise<void> {
  await tx.run('oidc.deletePolicy', sql`delete from trust_policies where policy_id = ${policyId}`);
}

export const findPolicy = (
  db: Queryable,
  tenant: string | undefined,
  policyId: string,
): Promise<TrustPolicy | undefined> =>
  db.maybe(
    'oidc.findPolicy',
    sql`select ${columns} ${from} where p.policy_id = ${policyId} and ${ofTenant(tenant)}`,
  );

/** Kept from others until the transaction ends, those who come in by it included. */
export async function lockPolicy(
  tx: Queryable,
  tenant: string | undefined,
  policyId: string,
): Promise<TrustPolicy | undefined> {
  // Nobody keeps others waiting for what is not theirs to see.
  const found = await findPolicy(tx, tenant, policyId);
  if (!found) return undefined;
  await lockExclusive(tx, 'trustPolicy', [found.policyId]);
  return tx.maybe(
    'oidc.lockPolicy',
    sql`select ${columns} ${from} where p.policy_id = ${policyId} and ${ofTenant(tenant)} for update of p`,
  );
}

/** As it stands, kept from changing until the transaction ends; others may come in by it meanwhile. */
export async function holdPolicy(tx: Queryable, policyId: string): Promise<TrustPolicy | undefined> {
  await lockShared(tx, 'trustPolicy', [policyId]);
  return tx.maybe(
    'oidc.holdPolicy',
    sql`select ${columns} ${from} where p.policy_id = ${policyId} for share of p`,
  );
}

export async function listPolicies(db: Queryable, tenant: string | undefined, query: TrustPolicyQuery) {
  const { agentId = null, provider = null, status = null } = query;
  const matches = sql`
    ${ofTenant(tenant)} and (${agentId}::uuid is null or p.agent_id = ${agentId})
    and (${provider}::text is null or p.provider = ${provider})
    and (${status}::text is null or p.status = ${status})`;
  const rows = await db.many<TrustPolicy>(
    'oidc.listPolicies',
    sql`select ${columns} ${from} where ${matches}
        order by p.created_at desc, p.policy_id desc limit ${query.limit} offset ${offsetOf(query)}`,
  );
  const { total } = await db.one<{ total: number }>(
    'oidc.countPolicies',
    sql`select count(*) as total from trust_policies p where ${matches}`,
  );
  return { rows, total };
}

/** With which of its organization's it is, beginning with 1 for the oldest. */
export type InTurn = TrustPolicy & { readonly turn: number };

/** Of one agent, for that issuer, oldest first. */
export const findPoliciesOfAgent = (
  db: Queryable,
  issuer: string,
  agentId: string,
  atMost: number,
): Promise<InTurn[]> =>
  db.many(
    'oidc.findPoliciesOfAgent',
    sql`select ${columns}, row_number() over (order by p.created_at, p.policy_id) as turn ${from}
        where p.issuer = ${issuer} and p.agent_id = ${agentId}
        order by p.created_at, p.policy_id limit ${atMost}`,
  );

/** How many steps from one organization to the next, and of how many policies of each its audiences are looked at. */
const maxSteps = 5_000;
const maxLookedAt = 500;

/**
 * Those for that issuer that a subject with one of these beginnings might match, disabled ones included, of active agents in
 * active organizations: the oldest of each organization, then the second of each, and so on. The index is followed from one
 * organization to the next, so that a hundred thousand policies of one delay no other. Rows are compared where columns would
 * do: in that order no other index has them, and by any other all of an organization's might be read in vain.
 */
export const findPoliciesByHead = (
  db: Queryable,
  issuer: string,
  { heads, audiences }: { heads: readonly string[]; audiences: readonly string[] },
  { each, all }: { each: number; all: number },
): Promise<InTurn[]> =>
  db.many(
    'oidc.findPoliciesByHead',
    sql`with recursive owners (head, organization_id) as (
          select head, ${nilUuid}::uuid from unnest(${heads}::text[]) as h (head)
          union all
          select owners.head, next.organization_id
          from owners cross join lateral (
            select issuer, subject_head, organization_id from trust_policies
            where (issuer, subject_head, organization_id) > (${issuer}, owners.head, owners.organization_id)
            order by issuer, subject_head, organization_id limit 1) next
          where next.issuer = ${issuer} and next.subject_head = owners.head
        ),
        turns as (
          select oldest.policy_id,
            row_number() over (partition by oldest.organization_id order by oldest.created_at, oldest.policy_id) as turn
          from (select head, organization_id from owners limit ${maxSteps}) o
          join organizations using (organization_id)
          cross join lateral (
            select policy_id, organization_id, agent_id, created_at, audiences from trust_policies
            where (issuer, subject_head, organization_id) >= (${issuer}, o.head, o.organization_id)
              and (issuer, subject_head, organization_id) <= (${issuer}, o.head, o.organization_id)
            order by issuer, subject_head, organization_id, created_at, policy_id limit ${maxLookedAt}) oldest
          join agents a on a.agent_id = oldest.agent_id
          where organizations.status = 'active' and a.status = 'active' and oldest.audiences && ${audiences}::text[]
        )
        select ${columns}, turns.turn
        from turns join trust_policies p using (policy_id) left join trust_policy_uses u using (policy_id)
        where turns.turn <= ${each}
        order by turns.turn, p.created_at, p.policy_id limit ${all}`,
  );

/** Two names of one token; see keys.ts. */
export interface TokenKeys {
  readonly byKeySet: Buffer;
  readonly byOrganization: Buffer;
}

/**
 * False when it was used before, by either name: the transaction must then be undone, since the other may have been written.
 * Of many at once the others wait for the first. Everybody writes the names in this order, so that no two wait for each other.
 */
export async function useToken(
  tx: Queryable,
  { byKeySet, byOrganization }: TokenKeys,
  expiresAt: string,
): Promise<boolean> {
  const inserted = await tx.run(
    'oidc.useToken',
    sql`insert into used_outside_tokens (token_key, expires_at)
        values (${byKeySet}, ${expiresAt}), (${byOrganization}, ${expiresAt})
        on conflict (token_key) do nothing`,
  );
  return inserted === 2;
}

export async function isUsed(db: Queryable, { byKeySet, byOrganization }: TokenKeys): Promise<boolean> {
  const row = await db.maybe(
    'oidc.isUsed',
    prepared(
      sql`select 1 from used_outside_tokens where token_key in (${byKeySet}, ${byOrganization}) limit 1`,
    ),
  );
  return row !== undefined;
}

/** Answers how many went. */
export const deleteExpiredUses = (db: Queryable, before: Date, atMost: number): Promise<number> =>
  db.run(
    'oidc.deleteExpiredUses',
    sql`delete from used_outside_tokens where ctid = any (array(
          select ctid from used_outside_tokens where expires_at < ${before} limit ${atMost} for update skip locked))`,
  );

/** To the minute, so that a busy policy is not written for each who comes in by it. */
export function markUsed(tx: Tx, policyId: string, now: string): void {
  tx.atCommit(
    'oidc.markUsed',
    sql`insert into trust_policy_uses as u (policy_id, last_used_at)
        values (${policyId}::uuid, ${now}::timestamptz)
        on conflict (policy_id) do update set last_used_at = excluded.last_used_at
        where u.last_used_at < excluded.last_used_at - interval '1 minute'`,
  );
}
