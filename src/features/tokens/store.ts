/** Writes `token_revocations` and `used_assertions`; reads across agents, organizations and credentials. */
import type { Queryable } from '../../kernel/db.ts';
import { prepared, sql } from '../../kernel/sql.ts';

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

/**
 * In the order asked. The secret's hash is looked up, so an agent with a thousand credentials costs no more than one
 * without any.
 */
export async function findClients(
  db: Queryable,
  asked: readonly { readonly agentId: string; readonly secretHash: Buffer }[],
  now: Date,
): Promise<(Client | undefined)[]> {
  const rows = await db.many<Client & { position: number }>(
    'tokens.findClients',
    prepared(sql`
      select asked.position, ${standing}, c.credential_id as "credentialId", c.secret_hash as "secretHash"
      from unnest(${asked.map(({ agentId }) => agentId)}::uuid[], ${asked.map(({ secretHash }) => secretHash)}::bytea[])
        with ordinality as asked (agent_id, secret_hash, position)
      join agents a using (agent_id) join organizations o using (organization_id)
      left join lateral (
        select credential_id, secret_hash from credentials
        where agent_id = a.agent_id and secret_hash = asked.secret_hash and status = 'active'
          and (expires_at is null or expires_at > ${now})
        limit 1
      ) c on true`),
  );
  const found = new Map(rows.map((row) => [row.position, row]));
  return asked.map((_, index) => found.get(index + 1));
}

/**
 * The agents as they stand, kept from being suspended or given other keys or credentials until the transaction ends: of
 * that and an issue at the same moment, one comes first. In one order, lest two that hold many wait for each other.
 */
export async function holdKeyHolders(
  tx: Queryable,
  agentIds: readonly string[],
): Promise<Map<string, KeyHolder>> {
  const rows = await tx.many<KeyHolder>(
    'tokens.holdAgents',
    prepared(sql`
      select ${standing}, a.public_keys as keys
      from agents a join organizations o using (organization_id)
      where a.agent_id = any(${agentIds}::uuid[]) order by a.agent_id for share of a`),
  );
  return new Map(rows.map((row) => [row.agentId, row]));
}

/** Which of the credentials still have the secret that was shown. To be asked while their agents are held. */
export async function findValidSecrets(
  tx: Queryable,
  shown: readonly { readonly credentialId: string; readonly secretHash: Buffer }[],
): Promise<Set<string>> {
  if (shown.length === 0) return new Set();
  const rows = await tx.many<{ credentialId: string }>(
    'tokens.findValidSecrets',
    prepared(sql`
      select credential_id as "credentialId"
      from unnest(${shown.map(({ credentialId }) => credentialId)}::uuid[], ${shown.map(({ secretHash }) => secretHash)}::bytea[])
        as shown (credential_id, secret_hash)
      join credentials c using (credential_id)
      where c.secret_hash = shown.secret_hash and c.status = 'active'`),
  );
  return new Set(rows.map(({ credentialId }) => credentialId));
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

/** Tells, asked once for each, whether it was its first use. */
export async function insertAssertions(
  tx: Queryable,
  used: readonly { readonly agentId: string; readonly assertionId: string; readonly expiresAt: Date }[],
): Promise<(agentId: string, assertionId: string) => boolean> {
  if (used.length === 0) return () => false;
  const rows = await tx.many<{ agentId: string; assertionId: string }>(
    'tokens.useAssertions',
    sql`insert into used_assertions (agent_id, assertion_id, expires_at)
        select * from unnest(${used.map(({ agentId }) => agentId)}::uuid[],
          ${used.map(({ assertionId }) => assertionId)}::text[],
          ${used.map(({ expiresAt }) => expiresAt)}::timestamptz[]) as used (agent_id, assertion_id, expires_at)
        order by agent_id, assertion_id
        on conflict (agent_id, assertion_id) do nothing
        returning agent_id as "agentId", assertion_id as "assertionId"`,
  );
  const first = new Set(rows.map(({ agentId, assertionId }) => `${agentId} ${assertionId}`));
  return (agentId, assertionId) => first.delete(`${agentId} ${assertionId}`);
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
