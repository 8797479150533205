/** Writes `console_links`; reads the status of credentials. */

import type { Scope } from '../../../contract/scopes.ts';
import type { Queryable } from '../../../kernel/data/db.ts';
import { sql } from '../../../kernel/data/sql.ts';
import type { SessionOwner } from '../sessions/service.ts';

export interface StoredLink {
  readonly agentId: string;
  readonly organizationId: string;
  readonly credentialId: string | null;
  readonly keyId: string | null;
  readonly scopes: readonly Scope[];
}

const columns = sql`
  agent_id as "agentId", organization_id as "organizationId", credential_id as "credentialId", key_id as "keyId", scopes`;

export async function insertLink(
  db: Queryable,
  codeHash: Buffer,
  { agentId, organizationId, credentialId, keyId, scopes }: StoredLink,
  expiresAt: Date,
): Promise<void> {
  await db.run(
    'console.insertLink',
    sql`insert into console_links (code_hash, agent_id, organization_id, credential_id, key_id, scopes, expires_at)
        values (${codeHash}, ${agentId}, ${organizationId}, ${credentialId}, ${keyId}, ${scopes}, ${expiresAt})`,
  );
}

export const findLink = (db: Queryable, codeHash: Buffer, now: Date): Promise<StoredLink | undefined> =>
  db.maybe(
    'console.findLink',
    sql`select ${columns} from console_links where code_hash = ${codeHash} and expires_at > ${now}`,
  );

/** Undefined for all but the first. */
export const takeLink = (db: Queryable, codeHash: Buffer, now: Date): Promise<StoredLink | undefined> =>
  db.maybe(
    'console.takeLink',
    sql`delete from console_links where code_hash = ${codeHash} and expires_at > ${now} returning ${columns}`,
  );

export async function hasActiveCredential(db: Queryable, credentialId: string, now: Date): Promise<boolean> {
  const { active } = await db.one<{ active: boolean }>(
    'console.hasActiveCredential',
    sql`select exists (select from credentials where credential_id = ${credentialId} and status = 'active'
                         and (expires_at is null or expires_at > ${now})) as active`,
  );
  return active;
}

/** Links of a person or a connection do not exist. */
export async function deleteLinksOf(db: Queryable, owner: SessionOwner): Promise<void> {
  if ('personId' in owner || 'connectionId' in owner) return;
  const [id, column] =
    'agentId' in owner
      ? [owner.agentId, sql`agent_id`]
      : 'organizationId' in owner
        ? [owner.organizationId, sql`organization_id`]
        : [owner.credentialId, sql`credential_id`];
  await db.run('console.deleteLinksOf', sql`delete from console_links where ${column} = ${id}`);
}

export const deleteExpiredLinks = (db: Queryable, now: Date, limit: number): Promise<number> =>
  db.run(
    'console.deleteExpiredLinks',
    sql`delete from console_links where code_hash = any (array(
          select code_hash from console_links where expires_at <= ${now} limit ${limit} for update skip locked))`,
  );
