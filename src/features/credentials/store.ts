import type { Queryable } from '../../kernel/data/db.ts';
import { sql } from '../../kernel/data/sql.ts';
import { offsetOf } from '../../kernel/http/page.ts';
import type { Credential, CredentialQuery } from './schema.ts';

const columns = sql`
  c.credential_id as "credentialId", c.agent_id as "clientId", c.name, c.status, c.created_at as "createdAt",
  c.expires_at as "expiresAt", c.revoked_at as "revokedAt", u.last_used_at as "lastUsedAt"`;
const fromCredentials = sql`from credentials c left join credential_uses u using (credential_id)`;

export async function insertCredential(
  db: Queryable,
  credential: Credential,
  secretHash: Buffer,
): Promise<void> {
  const { credentialId, clientId, name, status, createdAt, expiresAt, revokedAt } = credential;
  await db.run(
    'credentials.insert',
    sql`insert into credentials (credential_id, agent_id, name, secret_hash, status, created_at, expires_at, revoked_at)
        values (${credentialId}, ${clientId}, ${name}, ${secretHash}, ${status}, ${createdAt}, ${expiresAt}, ${revokedAt})`,
  );
}

export async function listCredentials(db: Queryable, agentId: string, query: CredentialQuery) {
  const matches = sql`c.agent_id = ${agentId} and (${query.status ?? null}::text is null or c.status = ${query.status ?? null})`;
  const rows = await db.many<Credential>(
    'credentials.list',
    sql`select ${columns} ${fromCredentials} where ${matches}
        order by c.created_at desc, c.credential_id desc limit ${query.limit} offset ${offsetOf(query)}`,
  );
  const { total } = await db.one<{ total: number }>(
    'credentials.count',
    sql`select count(*) as total from credentials c where ${matches}`,
  );
  return { rows, total };
}

/** Locked until the transaction ends: rotations and revocations of one credential are serialized. */
export const lockCredential = (
  db: Queryable,
  agentId: string,
  credentialId: string,
): Promise<Credential | undefined> =>
  db.maybe(
    'credentials.lock',
    sql`select ${columns} ${fromCredentials}
        where c.credential_id = ${credentialId} and c.agent_id = ${agentId} for no key update of c`,
  );

export async function replaceSecret(
  db: Queryable,
  credential: Credential,
  secretHash: Buffer,
): Promise<void> {
  await db.run(
    'credentials.rotate',
    sql`update credentials set secret_hash = ${secretHash}, expires_at = ${credential.expiresAt}
        where credential_id = ${credential.credentialId}`,
  );
}

export async function markRevoked(db: Queryable, credentialId: string, now: string): Promise<void> {
  await db.run(
    'credentials.revoke',
    sql`update credentials set status = 'revoked', revoked_at = ${now} where credential_id = ${credentialId}`,
  );
}

export async function markAllRevoked(db: Queryable, agentId: string, now: string): Promise<void> {
  await db.run(
    'credentials.revokeAll',
    sql`update credentials set status = 'revoked', revoked_at = ${now} where agent_id = ${agentId} and status = 'active'`,
  );
}

/** Expired ones count: a rotation can renew them. */
export async function hasActiveCredentials(db: Queryable, agentId: string): Promise<boolean> {
  const found = await db.maybe(
    'credentials.hasActive',
    sql`select 1 from credentials where agent_id = ${agentId} and status = 'active' limit 1`,
  );
  return found !== undefined;
}

export async function findCredentialBySecret(
  db: Queryable,
  agentId: string,
  secretHash: Buffer,
  now: string,
): Promise<string | undefined> {
  const found = await db.maybe<{ credentialId: string }>(
    'credentials.findBySecret',
    sql`select credential_id as "credentialId" from credentials
        where agent_id = ${agentId} and secret_hash = ${secretHash} and status = 'active'
          and (expires_at is null or expires_at > ${now})`,
  );
  return found?.credentialId;
}

/** The next expiry; when all have expired, the last one. */
export async function findExpiries(
  db: Queryable,
  agentIds: readonly string[],
  now: string,
): Promise<Map<string, string>> {
  const rows = await db.many<{ agentId: string; expiresAt: string }>(
    'credentials.findExpiries',
    sql`select agent_id as "agentId", coalesce(min(expires_at) filter (where expires_at > ${now}), max(expires_at)) as "expiresAt"
        from credentials where agent_id = any(${agentIds}::uuid[]) and status = 'active'
        group by agent_id
        having bool_and(expires_at is not null and expires_at <= ${now}) or bool_or(expires_at > ${now})`,
  );
  return new Map(rows.map(({ agentId, expiresAt }) => [agentId, expiresAt]));
}

export async function countExpiring(db: Queryable, from: Date, to: Date): Promise<number> {
  const { total } = await db.one<{ total: number }>(
    'credentials.countExpiring',
    sql`select count(*) as total from credentials
        where status = 'active' and expires_at is not null and expires_at > ${from} and expires_at <= ${to}`,
  );
  return total;
}

/** Rows are locked in the order of the key, so that two statements do not deadlock. A later use stays. */
export async function upsertUses(
  db: Queryable,
  uses: readonly { readonly credentialId: string; readonly lastUsedAt: string }[],
): Promise<void> {
  await db.run(
    'credentials.recordUses',
    sql`insert into credential_uses as u (credential_id, last_used_at)
        select credential_id, last_used_at
        from unnest(${uses.map(({ credentialId }) => credentialId)}::uuid[],
                    ${uses.map(({ lastUsedAt }) => lastUsedAt)}::timestamptz[]) as used (credential_id, last_used_at)
        order by credential_id
        on conflict (credential_id) do update set last_used_at = excluded.last_used_at
        where u.last_used_at < excluded.last_used_at`,
  );
}
