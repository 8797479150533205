import type { Queryable } from '../../kernel/db.ts';
import { sql } from '../../kernel/sql.ts';
import type { Credential } from './schema.ts';

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
