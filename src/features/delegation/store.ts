import { operatorScope } from '../../contract/scopes.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { type LockMode, lockExclusive, lockRows } from '../../kernel/data/locks.ts';
import { join, prepared, type Sql, sql } from '../../kernel/data/sql.ts';
import { createdWithin, type TimeRange } from '../../kernel/data/time-range.ts';
import { offsetOf } from '../../kernel/http/page.ts';
import type { Chain, Link } from './chain.ts';
import type { ChainStatus, Consent, ConsentQuery, DelegationQuery, DescendantQuery } from './schema.ts';

type StoredConsent = Link &
  Pick<Consent, 'agentName' | 'clientUri' | 'clientName' | 'resourceName' | 'lastUsedAt'>;

/** Earlier versions let an operator delegate its scope. Rows of those versions lose it here. */
const columns = sql`
  chain_id as "chainId", parent_chain_id as "parentChainId", root_chain_id as "rootChainId", path, depth,
  organization_id as "organizationId", subject_type as "subjectType", subject_id as "subjectId",
  delegator_type as "delegatorType", delegator_id as "delegatorId", origin,
  delegatee_id as "delegateeId", array_remove(scopes, ${operatorScope}) as scopes, resource, purpose, allow_redelegation as "allowRedelegation",
  created_at as "createdAt", expires_at as "expiresAt", revoked_at as "revokedAt",
  trust_policy_id as "trustPolicyId", authorization_details as "authorizationDetails"`;

export async function insertLink(tx: Queryable, link: Link): Promise<void> {
  await tx.run(
    'delegations.insert',
    sql`insert into delegations
          (chain_id, parent_chain_id, root_chain_id, path, depth, organization_id, subject_id, delegator_id,
           delegatee_id, scopes, resource, purpose, allow_redelegation, created_at, expires_at, trust_policy_id,
           subject_type, delegator_type, origin, authorization_details)
        values
          (${link.chainId}, ${link.parentChainId}, ${link.rootChainId}, ${link.path}::uuid[], ${link.depth},
           ${link.organizationId}, ${link.subjectId}, ${link.delegatorId}, ${link.delegateeId}, ${link.scopes},
           ${link.resource}, ${link.purpose}, ${link.allowRedelegation}, ${link.createdAt}, ${link.expiresAt},
           ${link.trustPolicyId}, ${link.subjectType}, ${link.delegatorType}, ${link.origin},
           ${link.authorizationDetails && JSON.stringify(link.authorizationDetails)}::jsonb)`,
  );
}

/** The link and its ancestors, root first. */
export async function findChain(db: Queryable, chainId: string): Promise<Chain | undefined> {
  const links = await db.many<Link>(
    'delegations.findChain',
    prepared(sql`select ${columns} from delegations
        where chain_id = any((select path from delegations where chain_id = ${chainId})::uuid[]) order by depth`),
  );
  return links.length > 0 ? (links as unknown as Chain) : undefined;
}

/** The active chains that end with the agent, newest first. */
export async function listReceivedChains(
  db: Queryable,
  agentId: string,
  now: Date,
  limit: number,
): Promise<Chain[]> {
  const links = await db.many<Link & { received: boolean }>(
    'delegations.listReceived',
    sql`with received as (
          select chain_id, path from delegations
          where delegatee_id = ${agentId} and ${statusIs('active', now)}
          order by created_at desc, chain_id desc limit ${limit})
        select ${columns}, chain_id in (select chain_id from received) as received from delegations
        where chain_id in (select unnest(path) from received) order by created_at desc, chain_id desc`,
  );
  const byId = new Map(links.map((link) => [link.chainId, link]));
  return links
    .filter(({ received }) => received)
    .map(({ path }) => path.flatMap((chainId) => byId.get(chainId) ?? []) as unknown as Chain);
}

/**
 * The root's lock covers its whole tree. Requests that issue a token or add a link share the lock; a request that revokes takes
 * it exclusively. So the two are ordered.
 */
export async function lockTree(tx: Queryable, rootChainId: string, mode: LockMode): Promise<void> {
  await lockRows(tx, 'delegationTree', [rootChainId], mode);
  await tx.run(
    `delegations.lock.${mode}`,
    prepared(
      sql`select from delegations where chain_id = ${rootChainId}
        ${mode === 'exclusive' ? sql`for no key update` : sql`for share`}`,
    ),
  );
}

/**
 * Not ended yet, by the clock of this node or by the database's, whichever is behind: a node whose clock is ahead must not take a link
 * that other nodes still accept for expired, and leave it unrevoked.
 */
const isLive = (at: string) => sql`revoked_at is null and expires_at > least(${at}::timestamptz, now())`;

/** Revokes the link and all links below it; returns how many. */
export const revokeBelow = (tx: Queryable, { rootChainId, chainId }: Link, at: string): Promise<number> =>
  tx.run(
    'delegations.revoke',
    sql`update delegations set revoked_at = ${at}
        where root_chain_id = ${rootChainId} and path @> array[${chainId}]::uuid[]
          and ${isLive(at)}`,
  );

/** Revokes every link of the agent and all links below them. The caller has locked the agent. */
export async function revokeChainsOfAgent(tx: Queryable, agentId: string, at: string): Promise<void> {
  await revokeLinks(tx, sql`(delegator_id = ${agentId} or delegatee_id = ${agentId})`, at);
}

/** The person does not change until the transaction ends. */
export async function lockPerson(tx: Queryable, personId: string): Promise<void> {
  await tx.run('delegations.lockPerson', sql`select from people where person_id = ${personId} for share`);
}

/** Revokes every chain that begins with the person. */
export async function revokeChainsOfPerson(tx: Queryable, personId: string, at: string): Promise<void> {
  await revokeLinks(tx, sql`(subject_type = 'person' and subject_id = ${personId})`, at);
}

interface Coverage {
  readonly personId: string;
  readonly agentId: string;
  readonly resource: readonly string[] | null;
  readonly scopes: readonly string[];
}

/** An active consent of the person to the agent that covers the scopes; the newest. */
export const findCovering = (
  db: Queryable,
  { personId, agentId, resource, scopes }: Coverage,
  now: Date,
): Promise<Link | undefined> =>
  db.maybe(
    'delegations.findCovering',
    sql`select ${columns} from delegations
        where subject_type = 'person' and subject_id = ${personId} and delegatee_id = ${agentId} and depth = 1
          and resource is not distinct from ${resource}::text[] and scopes @> ${scopes}::text[]
          and authorization_details is null
          and ${statusIs('active', now)}
        order by created_at desc, chain_id desc limit 1`,
  );

/** What a person has consented to, newest first. */
export async function listConsents(
  db: Queryable,
  personId: string,
  query: ConsentQuery,
  now: Date,
): Promise<{ rows: StoredConsent[]; total: number }> {
  const matches = sql`subject_type = 'person' and subject_id = ${personId} and depth = 1
    and ${statusIs(query.status, now)}`;
  const rows = await db.many<StoredConsent>(
    'delegations.listConsents',
    sql`select d.*, a.email as "agentName", a.client_uri as "clientUri",
          a.client_document ->> 'name' as "clientName",
          (select r.name from resources r where r.identifier = d.resource[1]) as "resourceName",
          (select max(t.created_at) from refresh_tokens t where t.chain_id = d."chainId") as "lastUsedAt"
        from (select ${columns} from delegations where ${matches}
              order by created_at desc, chain_id desc limit ${query.limit} offset ${offsetOf(query)}) d
          join agents a on a.agent_id = d."delegateeId"
        order by d."createdAt" desc, d."chainId" desc`,
  );
  const { total } = await db.one<{ total: number }>(
    'delegations.countConsents',
    sql`select count(*) as total from delegations where ${matches}`,
  );
  return { rows, total };
}

/**
 * Revokes the links that a workload made by the trust policy, and all links below them; returns the former. With scopes: only the
 * roots that go beyond them, because the scopes of a policy do not limit a chain that is passed on. The caller has locked the delegator.
 */
export const revokeChainsOfPolicy = (
  tx: Queryable,
  policyId: string,
  scopes: readonly string[] | undefined,
  at: string,
): Promise<Link[]> =>
  revokeLinks(
    tx,
    sql`trust_policy_id = ${policyId}
        and (${scopes ?? null}::text[] is null or (depth = 1 and not scopes <@ ${scopes ?? null}::text[]))`,
    at,
  );

/** Revokes these links and all links below them; returns these links. */
async function revokeLinks(tx: Queryable, which: Sql, at: string): Promise<Link[]> {
  const affected = sql`${which} and ${isLive(at)}`;
  const roots = await tx.many<{ chainId: string }>(
    'delegations.findTreesOf',
    sql`select distinct root_chain_id as "chainId" from delegations where ${affected}`,
  );
  if (roots.length === 0) return [];
  const rootIds = roots.map(({ chainId }) => chainId);
  await lockExclusive(tx, 'delegationTree', rootIds);
  await tx.run(
    'delegations.lockTreesOf',
    sql`select from delegations where chain_id = any(${rootIds}::uuid[]) order by chain_id for no key update`,
  );
  return tx.many(
    'delegations.revokeAffected',
    sql`with affected as (select chain_id from delegations where ${affected}),
        revoked as (
          update delegations set revoked_at = ${at}
          where chain_id in (
              select below.chain_id from delegations below, unnest(below.path) as link
              where below.root_chain_id = any(${rootIds}::uuid[])
                and below.revoked_at is null and link in (select chain_id from affected))
            and ${isLive(at)}
          returning chain_id)
        select ${columns} from delegations
        where chain_id in (select chain_id from affected) and chain_id in (select chain_id from revoked)`,
  );
}

const statusIs = (status: ChainStatus, now: Date) => {
  switch (status) {
    case 'revoked':
      return sql`revoked_at is not null`;
    case 'expired':
      return sql`revoked_at is null and expires_at <= ${now}`;
    case 'active':
      return sql`revoked_at is null and expires_at > ${now}`;
  }
};

const roleIs = (role: DelegationQuery['role'], agentId: string) => {
  switch (role) {
    case 'delegator':
      return sql`delegator_id = ${agentId}`;
    case 'delegatee':
      return sql`delegatee_id = ${agentId}`;
    case 'any':
      return sql`(delegator_id = ${agentId} or delegatee_id = ${agentId})`;
  }
};

/** The agent as a delegator, a delegatee or the subject. */
const concerns = (role: DelegationQuery['role'], agentId: string) =>
  role === 'any' ? sql`(${roleIs(role, agentId)} or subject_id = ${agentId})` : roleIs(role, agentId);

const belongsTo = (tenant: string | undefined) =>
  tenant === undefined ? sql`true` : sql`organization_id = ${tenant}`;

/** The links of the agent or the organization that the query names, otherwise the caller's own. */
const inRange = (
  { role, agentId, organizationId, subjectType, personId }: DelegationQuery,
  caller: { readonly agentId: string; readonly tenant: string | undefined },
) => {
  const named = [agentId, organizationId, subjectType, personId];
  if (named.every((each) => each === undefined)) return roleIs(role, caller.agentId);
  return join(
    [
      belongsTo(caller.tenant),
      ...(subjectType === undefined ? [] : [sql`subject_type = ${subjectType}`]),
      ...(personId === undefined ? [] : [sql`subject_type = 'person' and subject_id = ${personId}`]),
      ...(organizationId === undefined ? [] : [belongsTo(organizationId)]),
      ...(agentId === undefined ? [] : [concerns(role, agentId)]),
    ],
    ' and ',
  );
};

export async function listLinks(
  db: Queryable,
  caller: { readonly agentId: string; readonly tenant: string | undefined },
  query: DelegationQuery,
  range: TimeRange,
  now: Date,
) {
  const { status } = query;
  const matches = join(
    [
      inRange(query, caller),
      ...(status === undefined ? [] : [statusIs(status, now)]),
      ...createdWithin(range),
    ],
    ' and ',
  );
  const rows = await db.many<Link>(
    'delegations.list',
    sql`select ${columns} from delegations where ${matches}
        order by created_at desc, chain_id desc limit ${query.limit} offset ${offsetOf(query)}`,
  );
  const { total } = await db.one<{ total: number }>(
    'delegations.count',
    sql`select count(*) as total from delegations where ${matches}`,
  );
  return { rows, total };
}

/** The links below this one, nearest first. */
export async function listDescendants(
  db: Queryable,
  { rootChainId, chainId }: Link,
  query: DescendantQuery,
  now: Date,
) {
  const matches = sql`root_chain_id = ${rootChainId} and path @> array[${chainId}]::uuid[] and chain_id <> ${chainId}
    and ${statusIs(query.status, now)}`;
  const rows = await db.many<Link>(
    'delegations.listDescendants',
    sql`select ${columns} from delegations where ${matches}
        order by depth, created_at, chain_id limit ${query.limit} offset ${offsetOf(query)}`,
  );
  const { total } = await db.one<{ total: number }>(
    'delegations.countDescendants',
    sql`select count(*) as total from delegations where ${matches}`,
  );
  return { rows, total };
}

export interface LinkStatus {
  readonly revoked: boolean;
  readonly expiresAt: string;
}

/** In the order of the ids; links that do not exist are left out. */
export async function findLinkStatuses(db: Queryable, chainIds: readonly string[]): Promise<LinkStatus[]> {
  const rows = await db.many<LinkStatus & { chainId: string }>(
    'delegations.findLinkStatuses',
    prepared(sql`
      select chain_id as "chainId", revoked_at is not null as revoked, expires_at as "expiresAt"
      from delegations where chain_id = any(${chainIds}::uuid[])`),
  );
  const found = new Map(rows.map(({ chainId, ...status }) => [chainId, status]));
  return chainIds.flatMap((chainId) => found.get(chainId.toLowerCase()) ?? []);
}

/** A link never outlives its parent, and of equals the lower is deleted first, so no link loses its parent. Returns how many. */
export const deleteExpired = (db: Queryable, before: Date, limit: number): Promise<number> =>
  db.run(
    'delegations.deleteExpired',
    sql`delete from delegations where chain_id in (
          select chain_id from delegations where expires_at < ${before}
          order by expires_at, depth desc limit ${limit})`,
  );
