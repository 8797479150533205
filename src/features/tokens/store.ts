/** Writes `token_revocations` and `used_assertions`; reads across agents, organizations and credentials. */
import type { Queryable } from '../../kernel/db.ts';
import { sql } from '../../kernel/sql.ts';

export interface Standing {
  readonly agentId: string;
  readonly organizationId: string;
  readonly agentStatus: 'active' | 'suspended' | 'decommissioned';
  readonly organizationStatus: 'active' | 'suspended' | 'deleted';
  readonly allowedScopes: readonly string[];
  /** Tokens from before are over. */
  readonly tokensEndedAt: string | null;
}

const standing = sql`
  a.agent_id as "agentId", a.organization_id as "organizationId", a.status as "agentStatus",
  o.status as "organizationStatus", a.allowed_scopes as "allowedScopes", a.tokens_ended_at as "tokensEndedAt"`;

export interface Client extends Standing {
  /** The credential with this secret, if there is one that is active and not expired. */
  readonly credentialId: string | null;
  readonly secretHash: Buffer | null;
}

/** The secret's hash is looked up, so an agent with a thousand credentials costs no more than one without any. */
export const findClient = (
  db: Queryable,
  agentId: string,
  secretHash: Buffer,
  now: Date,
): Promise<Client | undefined> =>
  db.maybe(
    'tokens.findClient',
    sql`select ${standing}, c.credential_id as "credentialId", c.secret_hash as "secretHash"
        from agents a join organizations o using (organization_id)
        left join credentials c on c.agent_id = a.agent_id and c.secret_hash = ${secretHash} and c.status = 'active'
          and (c.expires_at is null or c.expires_at > ${now})
        where a.agent_id = ${agentId}
        limit 1`,
  );

/**
 * The agent as it stands, kept from being suspended or given other keys until the transaction ends: of that and an issue at
 * the same moment, one comes first. Taken before the credential's lock, as everybody does.
 */
export const holdKeyHolder = (tx: Queryable, agentId: string): Promise<KeyHolder | undefined> =>
  tx.maybe(
    'tokens.holdAgent',
    sql`select ${standing}, a.public_keys as keys
        from agents a join organizations o using (organization_id) where a.agent_id = ${agentId} for share of a`,
  );

/** Whether the credential still has this secret, kept so until the transaction ends. */
export async function holdCredential(
  tx: Queryable,
  credentialId: string,
  secretHash: Buffer,
): Promise<boolean> {
  const row = await tx.maybe(
    'tokens.holdCredential',
    sql`select 1 from credentials
        where credential_id = ${credentialId} and secret_hash = ${secretHash} and status = 'active' for share`,
  );
  return row !== undefined;
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

/** False when it was used before. */
export async function insertAssertion(
  tx: Queryable,
  agentId: string,
  { assertionId, expiresAt }: { assertionId: string; expiresAt: Date },
): Promise<boolean> {
  const inserted = await tx.run(
    'tokens.useAssertion',
    sql`insert into used_assertions (agent_id, assertion_id, expires_at)
        values (${agentId}, ${assertionId}, ${expiresAt}) on conflict (agent_id, assertion_id) do nothing`,
  );
  return inserted === 1;
}

export const findStanding = (
  db: Queryable,
  agentId: string,
  tokenId: string,
): Promise<(Standing & { readonly revoked: boolean }) | undefined> =>
  db.maybe(
    'tokens.findStanding',
    sql`select ${standing}, exists (select from token_revocations where token_id = ${tokenId}) as revoked
        from agents a join organizations o using (organization_id) where a.agent_id = ${agentId}`,
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

/** What would have expired by now anyway. */
export async function deleteExpired(db: Queryable, before: Date): Promise<void> {
  await db.run(
    'tokens.deleteExpiredAssertions',
    sql`delete from used_assertions where expires_at < ${before}`,
  );
  await db.run(
    'tokens.deleteExpiredRevocations',
    sql`delete from token_revocations where expires_at < ${before}`,
  );
}
