import type { Queryable } from '../../kernel/data/db.ts';
import { sql } from '../../kernel/data/sql.ts';
import { offsetOf } from '../../kernel/http/page.ts';
import type { Credential, CredentialQuery } from './schema.ts';

const columns = sql`
  credential_id as "credentialId", agent_id as "clientId", status, created_at as "createdAt",
  expires_at as "expiresAt", revoked_at as "revokedAt"`;

export async function insertCredential(
  db: Queryable,
  credential: Credential,
  secretHash: Buffer,
): Promise<void> {
  const { credentialId, clientId, status, createdAt, expiresAt, revokedAt } = credential;
  await db.run(
    'credentials.insert',
    sql`insert into credentials (credential_id, agent_id, secret_hash, status, created_at, expires_at, revoked_at)
        values (${credentialId}, ${clientId}, ${secretHash}, ${status}, ${createdAt}, ${expiresAt}, ${revokedAt})`,
  );
}

export async function listCredentials(db: Queryable, agentId: string, query: CredentialQuery) {
  const matches = sql`agent_id = ${agentId} and (${query.status ?? null}::text is null or status = ${query.status ?? null})`;
  const rows = await db.many<Credential>(
    'credentials.list',
    sql`select ${columns} from credentials where ${matches}
        order by created_at desc, credential_id desc limit ${query.limit} offset ${offsetOf(query)}`,
  );
  const { total } = await db.one<{ total: number }>(
    'credentials.count',
    sql`select count(*) as total from credentials where ${matches}`,
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
    sql`select ${columns} from credentials
        where credential_id = ${credentialId} and agent_id = ${agentId} for no key update`,
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

export async function hasSecret(
  db: Queryable,
  agentId: string,
  secretHash: Buffer,
  now: string,
): Promise<boolean> {
  const { has } = await db.one<{ has: boolean }>(
    'credentials.hasSecret',
    sql`select exists (
          select from credentials
          where agent_id = ${agentId} and secret_hash = ${secretHash} and status = 'active'
            and (expires_at is null or expires_at > ${now})) as has`,
  );
  return has;
}

export async function countExpiring(db: Queryable, from: Date, to: Date): Promise<number> {
  const { total } = await db.one<{ total: number }>(
    'credentials.countExpiring',
    sql`select count(*) as total from credentials
        where status = 'active' and expires_at is not null and expires_at > ${from} and expires_at <= ${to}`,
  );
  return total;
}
