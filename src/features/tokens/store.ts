/** Writes `token_revocations` and `used_assertions`; reads across agents, organizations and credentials. */
import type { PlanTier } from '../../contract/limits.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { lockShared, tryLockShared } from '../../kernel/data/locks.ts';
import { listOf, prepared, sql } from '../../kernel/data/sql.ts';

export interface Standing {
  readonly agentId: string;
  readonly organizationId: string;
  readonly agentStatus: 'active' | 'suspended' | 'decommissioned';
  readonly organizationStatus: 'active' | 'suspended' | 'deleted';
  readonly planTier: PlanTier;
  /** The organization's own figure; null: its plan's. */
  readonly maxTokensPerMonth: number | null;
  readonly allowedScopes: readonly string[];
  /** Tokens from before are over. */
  readonly tokensEndedAt: string | null;
}

const standing = sql`
  a.agent_id as "agentId", a.organization_id as "organizationId", a.status as "agentStatus",
  o.status as "organizationStatus", o.plan_tier as "planTier", o.max_tokens_per_month as "maxTokensPerMonth",
  a.allowed_scopes as "allowedScopes", a.tokens_ended_at as "tokensEndedAt"`;

export interface Client extends Standing {
  readonly secretHash: Buffer;
}

type Asked = readonly { readonly agentId: string; readonly secretHash: Buffer }[];

const askedRows = (asked: Asked) => sql`(
    select agent_id, decode(secret_hash, 'hex') as secret_hash, position
    from unnest(${listOf(asked.map(({ agentId }) => agentId))}::uuid[],
                ${listOf(asked.map(({ secretHash }) => secretHash.toString('hex')))})
      with ordinality as told (agent_id, secret_hash, position)
  )`;

/** The hash is looked up, so a thousand credentials cost no more than one. */
const clientsAsked = (asked: Asked, now: Date) => sql`
  select asked.position, ${standing}, c.secret_hash as "secretHash"
  from ${askedRows(asked)} as asked
  join agents a using (agent_id)
  join organizations o using (organization_id)
  join credentials c on c.agent_id = a.agent_id and c.secret_hash = asked.secret_hash
  where c.status = 'active' and (c.expires_at is null or c.expires_at > ${now})`;

/** In the order asked: the organization of the agent whose active credential has this secret, at the moment. */
export async function findOrganizationsOfClients(
  db: Queryable,
  asked: Asked,
  now: Date,
): Promise<(string | undefined)[]> {
  const rows = await db.many<{ position: number; organizationId: string }>(
    'tokens.findClients',
    prepared(sql`
      select position, a.organization_id as "organizationId"
      from ${askedRows(asked)} as asked
      join credentials c using (agent_id, secret_hash)
      join agents a using (agent_id)
      where c.status = 'active' and (c.expires_at is null or c.expires_at > ${now})`),
  );
  const found = new Map(rows.map(({ position, organizationId }) => [position, organizationId]));
  return asked.map((_, index) => found.get(index + 1));
}

/** Somebody is changing the agent or a credential of it just now: it must be waited for before anything can be said. */
export const busy = Symbol('busy');

/** Takes the agents' locks, so that they and their credentials stay as they are; answers which cannot be had without waiting. */
async function hold(tx: Queryable, agentIds: readonly string[], waiting: boolean): Promise<Set<string>> {
  if (!waiting) return tryLockShared(tx, 'agent', agentIds);
  await lockShared(tx, 'agent', agentIds);
  return new Set();
}

/**
 * In the order asked: the agent whose active credential has this secret, as it stands until the transaction ends. The locks
 * come first: what is read then is what they keep.
 */
export async function holdClients(
  tx: Queryable,
  asked: Asked,
  now: Date,
  { waiting }: { waiting: boolean },
): Promise<(Client | typeof busy | undefined)[]> {
  const agentIds = asked.map(({ agentId }) => agentId);
  const [taken, rows] = await Promise.all([
    hold(tx, agentIds, waiting),
    tx.many<Client & { position: number }>('tokens.clients', prepared(clientsAsked(asked, now))),
  ]);
  const found = new Map(rows.map((row) => [row.position, row]));
  return asked.map(({ agentId }, index) => {
    const client = found.get(index + 1);
    return client && taken.has(agentId) ? busy : client;
  });
}

/** By id, in the same way: those that can be had, and whether the others are busy. */
export async function holdKeyHolders(
  tx: Queryable,
  agentIds: readonly string[],
  { waiting }: { waiting: boolean },
): Promise<Map<string, KeyHolder | typeof busy>> {
  const [taken, rows] = await Promise.all([
    hold(tx, agentIds, waiting),
    tx.many<KeyHolder>(
      'tokens.keyHolders',
      sql`select ${standing}, a.public_keys as keys
          from agents a join organizations o using (organization_id)
          where a.agent_id = any(${agentIds}::uuid[])`,
    ),
  ]);
  return new Map(rows.map((row) => [row.agentId, taken.has(row.agentId) ? busy : row]));
}

/** The agent as it stands, kept from changing until the transaction ends; waited for when somebody is changing it. */
export async function holdStanding(tx: Queryable, agentId: string): Promise<Standing | undefined> {
  await hold(tx, [agentId], true);
  return tx.maybe(
    'tokens.holdStanding',
    sql`select ${standing} from agents a join organizations o using (organization_id)
        where a.agent_id = ${agentId}`,
  );
}

export async function findStandings(
  db: Queryable,
  agentIds: readonly string[],
): Promise<Map<string, Standing>> {
  const rows = await db.many<Standing>(
    'tokens.findStandings',
    prepared(sql`
      select ${standing} from agents a join organizations o using (organization_id)
      where a.agent_id = any(${agentIds}::uuid[])`),
  );
  return new Map(rows.map((row) => [row.agentId, row]));
}

export interface KeyHolder extends Standing {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}

export const findKeyHolder = (db: Queryable, agentId: string): Promise<KeyHolder | undefined> =>
  db.maybe(
    'tokens.findKeyHolder',
    sql`select ${standing}, a.public_keys as keys
        from agents a join organizations o using (organization_id) where a.agent_id = ${agentId}`,
  );

interface AssertionUse {
  readonly agentId: string;
  readonly assertionId: string;
}

/** Tells, asked once for each, whether it was its first use. */
export async function insertAssertions(
  tx: Queryable,
  used: readonly (AssertionUse & { readonly expiresAt: Date })[],
): Promise<(use: AssertionUse) => boolean> {
  if (used.length === 0) return () => false;
  const rows = await tx.many<AssertionUse>(
    'tokens.useAssertions',
    sql`insert into used_assertions (agent_id, assertion_id, expires_at)
        select * from unnest(${used.map(({ agentId }) => agentId)}::uuid[],
          ${used.map(({ assertionId }) => assertionId)}::text[],
          ${used.map(({ expiresAt }) => expiresAt)}::timestamptz[]) as used (agent_id, assertion_id, expires_at)
        order by agent_id, assertion_id
        on conflict (agent_id, assertion_id) do nothing
        returning agent_id as "agentId", assertion_id as "assertionId"`,
  );
  const nameOf = ({ agentId, assertionId }: AssertionUse) => `${agentId} ${assertionId}`;
  const first = new Set(rows.map(nameOf));
  return (use) => first.delete(nameOf(use));
}

export async function isAssertionUsed(
  db: Queryable,
  { agentId, assertionId }: AssertionUse,
): Promise<boolean> {
  const row = await db.maybe(
    'tokens.isAssertionUsed',
    prepared(
      sql`select 1 from used_assertions where agent_id = ${agentId} and assertion_id = ${assertionId}`,
    ),
  );
  return row !== undefined;
}

export const findStanding = (
  db: Queryable,
  agentId: string,
  tokenId: string,
): Promise<(Standing & { readonly revoked: boolean }) | undefined> =>
  db.maybe(
    'tokens.findStanding',
    prepared(sql`
      select ${standing}, exists (select from token_revocations where token_id = ${tokenId}) as revoked
      from agents a join organizations o using (organization_id) where a.agent_id = ${agentId}`),
  );

export interface Revocation {
  readonly tokenId: string;
  readonly agentId: string;
  readonly revokedAt: string;
  readonly expiresAt: string;
}

/** False when it was revoked already. */
export async function insertRevocation(tx: Queryable, revocation: Revocation): Promise<boolean> {
  const { tokenId, agentId, revokedAt, expiresAt } = revocation;
  const inserted = await tx.run(
    'tokens.revoke',
    sql`insert into token_revocations (token_id, agent_id, revoked_at, expires_at)
        values (${tokenId}, ${agentId}, ${revokedAt}, ${expiresAt}) on conflict (token_id) do nothing`,
  );
  return inserted === 1;
}

/** Those that would have expired by now anyway; answers how many went. */
export const deleteExpiredAssertions = (db: Queryable, before: Date, atMost: number): Promise<number> =>
  db.run(
    'tokens.deleteExpiredAssertions',
    sql`delete from used_assertions where ctid = any (array(
          select ctid from used_assertions where expires_at < ${before} limit ${atMost} for update skip locked))`,
  );

export const deleteExpiredRevocations = (db: Queryable, before: Date, atMost: number): Promise<number> =>
  db.run(
    'tokens.deleteExpiredRevocations',
    sql`delete from token_revocations where ctid = any (array(
          select ctid from token_revocations where expires_at < ${before} limit ${atMost} for update skip locked))`,
  );
