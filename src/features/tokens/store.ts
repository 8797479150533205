/** Writes `token_revocations` and `used_assertions`; reads across agents, organizations and credentials. */
import type { PlanTier } from '../../contract/limits.ts';
import type { Queryable } from '../../kernel/db.ts';
import { takeTurn } from '../../kernel/locks.ts';
import { listOf, prepared, sql } from '../../kernel/sql.ts';

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

const awaitTurn = (tx: Queryable, agentIds: readonly string[]) => takeTurn(tx, 'agent', agentIds, 'together');

type Asked = readonly { readonly agentId: string; readonly secretHash: Buffer }[];

/** The hash is looked up, so a thousand credentials cost no more than one. */
const clientsAsked = (asked: Asked, now: Date) => sql`
  select asked.position, ${standing}, c.secret_hash as "secretHash"
  from (
    select agent_id, decode(secret_hash, 'hex') as secret_hash, position
    from unnest(${listOf(asked.map(({ agentId }) => agentId))}::uuid[],
                ${listOf(asked.map(({ secretHash }) => secretHash.toString('hex')))})
      with ordinality as told (agent_id, secret_hash, position)
  ) as asked
  join agents a using (agent_id)
  join organizations o using (organization_id)
  join credentials c on c.agent_id = a.agent_id and c.secret_hash = asked.secret_hash
  where c.status = 'active' and (c.expires_at is null or c.expires_at > ${now})`;

const inOrder = (asked: Asked, rows: readonly (Client & { position: number })[]) => {
  const found = new Map(rows.map((row) => [row.position, row]));
  return asked.map((_, index): Client | undefined => found.get(index + 1));
};

/**
 * In the order asked: the agent whose active credential has this secret, as it stands. Agent and credential are kept from
 * changing until the transaction ends, the agent first, as everybody does. Those that somebody is changing just now are
 * left out, unless there is time to wait for them.
 */
export async function holdClients(
  tx: Queryable,
  asked: Asked,
  now: Date,
  { waiting }: { waiting: boolean },
): Promise<(Client | undefined)[]> {
  const query = clientsAsked(asked, now);
  if (waiting)
    await awaitTurn(
      tx,
      asked.map(({ agentId }) => agentId),
    );
  const rows = waiting
    ? await tx.many<Client & { position: number }>(
        'tokens.awaitClients',
        sql`${query} order by a.agent_id for share of a, c`,
      )
    : await tx.many<Client & { position: number }>(
        'tokens.holdClients',
        prepared(sql`${query} for share of a, c skip locked`),
      );
  return inOrder(asked, rows);
}

/** The same without holding them: tells who is merely busy from who is not there. */
export async function findClients(db: Queryable, asked: Asked, now: Date): Promise<(Client | undefined)[]> {
  return inOrder(asked, await db.many('tokens.findClients', prepared(clientsAsked(asked, now))));
}

/** The agents as they stand, kept from being suspended or given other keys until the transaction ends. */
export async function holdKeyHolders(
  tx: Queryable,
  agentIds: readonly string[],
  { waiting }: { waiting: boolean },
): Promise<Map<string, KeyHolder>> {
  if (waiting) await awaitTurn(tx, agentIds);
  const rows = await tx.many<KeyHolder>(
    'tokens.holdKeyHolders',
    sql`select ${standing}, a.public_keys as keys
        from agents a join organizations o using (organization_id)
        where a.agent_id = any(${agentIds}::uuid[]) order by a.agent_id
        for share of a ${waiting ? sql`` : sql`skip locked`}`,
  );
  return new Map(rows.map((row) => [row.agentId, row]));
}

/** The agent as it stands, kept from changing until the transaction ends; waited for when somebody is changing it. */
export async function holdStanding(tx: Queryable, agentId: string): Promise<Standing | undefined> {
  await awaitTurn(tx, [agentId]);
  return tx.maybe(
    'tokens.holdStanding',
    sql`select ${standing} from agents a join organizations o using (organization_id)
        where a.agent_id = ${agentId} for share of a`,
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
