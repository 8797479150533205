/** Trust policies, with the time of their last use. */
import type { Caller } from '../../../kernel/caller.ts';
import type { Queryable } from '../../../kernel/data/db.ts';
import { lockExclusive, lockShared } from '../../../kernel/data/locks.ts';
import { join, sql } from '../../../kernel/data/sql.ts';
import { createdWithin, type TimeRange } from '../../../kernel/data/time-range.ts';
import { offsetOf } from '../../../kernel/http/page.ts';
import type { TrustPolicy, TrustPolicyQuery } from '../schema.ts';
import type { PolicyKeys } from './lookup-keys.ts';

export const policyColumns = sql`
  p.policy_id as "policyId", p.organization_id as "organizationId", p.agent_id as "agentId", p.name, p.provider,
  p.issuer, p.jwks_uri as "jwksUri", p.audiences, p.subject, p.conditions, p.scopes, p.resources,
  p.acts_as_admin as "actsAsAdmin", p.max_token_age_seconds as "maxTokenAgeSeconds", p.single_use as "singleUse", p.status,
  u.last_used_at as "lastUsedAt", p.created_at as "createdAt", p.updated_at as "updatedAt"`;
export const fromPolicies = sql`from trust_policies p left join trust_policy_uses u using (policy_id)`;

/** Undefined for operators: every organization. */
const ofTenant = (organizationId: string | undefined) =>
  organizationId === undefined ? sql`true` : sql`p.organization_id = ${organizationId}`;

/** False when the agent has an equal policy. */
export async function insertPolicy(tx: Queryable, policy: TrustPolicy, keys: PolicyKeys): Promise<boolean> {
  const inserted = await tx.run(
    'oidc.insertPolicy',
    sql`insert into trust_policies
          (policy_id, organization_id, agent_id, name, provider, issuer, jwks_uri, audiences, subject, subject_head,
           conditions, scopes, resources, acts_as_admin, max_token_age_seconds, single_use, status, lets_in, created_at, updated_at)
        values
          (${policy.policyId}, ${policy.organizationId}, ${policy.agentId}, ${policy.name}, ${policy.provider},
           ${policy.issuer}, ${policy.jwksUri}, ${policy.audiences}, ${policy.subject}, ${keys.subjectPrefix},
           ${JSON.stringify(policy.conditions)}, ${policy.scopes}, ${JSON.stringify(policy.resources)},
           ${policy.actsAsAdmin}, ${policy.maxTokenAgeSeconds}, ${policy.singleUse},
           ${policy.status}, ${keys.contentHash}, ${policy.createdAt}, ${policy.updatedAt})
        on conflict (agent_id, lets_in) do nothing`,
  );
  return inserted === 1;
}

/** Whether the agent has another policy that admits the same tokens. */
export async function hasEqual(
  tx: Queryable,
  policy: TrustPolicy,
  { contentHash }: PolicyKeys,
): Promise<boolean> {
  const row = await tx.maybe(
    'oidc.findEqual',
    sql`select 1 from trust_policies
        where agent_id = ${policy.agentId} and lets_in = ${contentHash} and policy_id <> ${policy.policyId}`,
  );
  return row !== undefined;
}

export async function updatePolicy(tx: Queryable, policy: TrustPolicy, keys: PolicyKeys): Promise<void> {
  await tx.run(
    'oidc.updatePolicy',
    sql`update trust_policies
        set name = ${policy.name}, issuer = ${policy.issuer}, jwks_uri = ${policy.jwksUri},
            audiences = ${policy.audiences}, subject = ${policy.subject}, subject_head = ${keys.subjectPrefix},
            conditions = ${JSON.stringify(policy.conditions)}, scopes = ${policy.scopes},
            resources = ${JSON.stringify(policy.resources)}, acts_as_admin = ${policy.actsAsAdmin},
            max_token_age_seconds = ${policy.maxTokenAgeSeconds}, single_use = ${policy.singleUse},
            status = ${policy.status}, lets_in = ${keys.contentHash}, updated_at = ${policy.updatedAt}
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
    sql`select ${policyColumns} ${fromPolicies} where p.policy_id = ${policyId} and ${ofTenant(tenant)}`,
  );

/** The power that a trust policy gives. It is read at each decision: a change takes effect at once. */
export interface PolicyPower {
  /** False for a policy that is disabled or was deleted: it has no other power then. */
  readonly isActive: boolean;
  /** The scopes of our own API, within those of the agent. */
  readonly scopes: readonly string[];
  /** Whether the workload has the role admin that its agent has. */
  readonly actsAsAdmin: boolean;
  /** The scopes of registered resources that it may get and pass on, within the agent's grants. */
  readonly resources: readonly { readonly identifier: string; readonly scopes: readonly string[] }[];
}

const noPower: PolicyPower = { isActive: false, scopes: [], actsAsAdmin: false, resources: [] };

/** `noPower` for a policy that is disabled or was deleted. */
export type FindPolicyPower = (
  db: Queryable,
  workload: Pick<Caller, 'agentId' | 'trustPolicyId'>,
) => Promise<PolicyPower>;

export const findPolicyPower: FindPolicyPower = async (db, { agentId, trustPolicyId }) => {
  const found = await db.maybe<PolicyPower>(
    'oidc.findPolicyPower',
    sql`select true as "isActive", scopes, acts_as_admin as "actsAsAdmin", resources from trust_policies
        where policy_id = ${trustPolicyId ?? null} and agent_id = ${agentId} and status = 'active'`,
  );
  return found ?? noPower;
};

/** Disabled ones count: they can be enabled again. */
export async function hasTrustPolicies(db: Queryable, agentId: string): Promise<boolean> {
  const found = await db.maybe(
    'oidc.hasPolicies',
    sql`select 1 from trust_policies where agent_id = ${agentId} limit 1`,
  );
  return found !== undefined;
}

/** Locks out changes and exchanges until the transaction ends. */
export async function lockPolicyExclusive(
  tx: Queryable,
  tenant: string | undefined,
  policyId: string,
): Promise<TrustPolicy | undefined> {
  // Read first: a caller cannot lock policies that it may not see.
  const found = await findPolicy(tx, tenant, policyId);
  if (!found) return undefined;
  await lockExclusive(tx, 'trustPolicy', [found.policyId]);
  return tx.maybe(
    'oidc.lockPolicyExclusive',
    sql`select ${policyColumns} ${fromPolicies} where p.policy_id = ${policyId} and ${ofTenant(tenant)} for update of p`,
  );
}

/** Locks out changes until the transaction ends; other exchanges by the policy go on. */
export async function lockPolicyShared(tx: Queryable, policyId: string): Promise<TrustPolicy | undefined> {
  await lockShared(tx, 'trustPolicy', [policyId]);
  return tx.maybe(
    'oidc.lockPolicyShared',
    sql`select ${policyColumns} ${fromPolicies} where p.policy_id = ${policyId} for share of p`,
  );
}

export async function listPolicies(
  db: Queryable,
  tenant: string | undefined,
  query: TrustPolicyQuery,
  range: TimeRange,
) {
  const { agentId = null, provider = null, status = null } = query;
  const matches = join(
    [
      sql`${ofTenant(tenant)} and (${agentId}::uuid is null or p.agent_id = ${agentId})
          and (${provider}::text is null or p.provider = ${provider})
          and (${status}::text is null or p.status = ${status})`,
      ...createdWithin(range, sql`p.created_at`),
    ],
    ' and ',
  );
  const rows = await db.many<TrustPolicy>(
    'oidc.listPolicies',
    sql`select ${policyColumns} ${fromPolicies} where ${matches}
        order by p.created_at desc, p.policy_id desc limit ${query.limit} offset ${offsetOf(query)}`,
  );
  const { total } = await db.one<{ total: number }>(
    'oidc.countPolicies',
    sql`select count(*) as total from trust_policies p where ${matches}`,
  );
  return { rows, total };
}
