import type { Queryable } from '../../kernel/data/db.ts';
import { sql } from '../../kernel/data/sql.ts';
import type { PaidTier, ProviderName } from '../../kernel/ports/payments.ts';

export interface StoredSession {
  readonly sessionId: string;
  readonly kind: 'checkout' | 'portal';
  readonly provider: ProviderName;
  readonly organizationId: string;
  readonly agentId: string;
  readonly targetTier: PaidTier | null;
  /** Whether the caller had billing:manage. Without it, the page serves only the first payment. */
  readonly managed: boolean;
  readonly startedAt: string;
  readonly expiresAt: string;
  readonly usedAt: string | null;
}

const columns = sql`
  session_id as "sessionId", kind, provider, organization_id as "organizationId", agent_id as "agentId",
  target_tier as "targetTier", managed, started_at as "startedAt", expires_at as "expiresAt", used_at as "usedAt"`;

/** A provider may return the same session twice; then the later data counts. */
export async function insertSession(
  db: Queryable,
  session: Omit<StoredSession, 'usedAt'> & { tokenHash: Buffer | undefined },
): Promise<void> {
  const { sessionId, kind, provider, organizationId, agentId, targetTier, managed, startedAt, expiresAt } =
    session;
  await db.run(
    'billing.insertSession',
    sql`insert into billing_sessions
          (session_id, kind, provider, organization_id, agent_id, target_tier, managed, token_hash, started_at,
           expires_at)
        values
          (${sessionId}, ${kind}, ${provider}, ${organizationId}, ${agentId}, ${targetTier}, ${managed},
           ${session.tokenHash ?? null}, ${startedAt}, ${expiresAt})
        on conflict (session_id) do update
          set managed = excluded.managed, started_at = excluded.started_at, expires_at = excluded.expires_at`,
  );
}

export const findSession = (
  db: Queryable,
  kind: StoredSession['kind'],
  tokenHash: Buffer,
): Promise<StoredSession | undefined> =>
  db.maybe(
    'billing.session',
    sql`select ${columns} from billing_sessions where token_hash = ${tokenHash} and kind = ${kind}`,
  );

/** Marks the open checkouts as used, and returns their ids. */
export async function closeOpenCheckouts(
  db: Queryable,
  provider: ProviderName,
  organizationId: string,
  now: string,
): Promise<string[]> {
  const closed = await db.many<{ sessionId: string }>(
    'billing.closeCheckouts',
    sql`update billing_sessions set used_at = ${now}
        where organization_id = ${organizationId} and provider = ${provider} and kind = 'checkout'
          and used_at is null and expires_at > ${now}
        returning session_id as "sessionId"`,
  );
  return closed.map(({ sessionId }) => sessionId);
}

/** False when it was used before. */
export async function markSessionUsed(db: Queryable, sessionId: string, usedAt: string): Promise<boolean> {
  const used = await db.run(
    'billing.useSession',
    sql`update billing_sessions set used_at = ${usedAt} where session_id = ${sessionId} and used_at is null`,
  );
  return used === 1;
}

/** Returns how many it deleted. */
export const deleteOldSessions = (db: Queryable, before: string, limit: number): Promise<number> =>
  db.run(
    'billing.purgeSessions',
    sql`delete from billing_sessions where ctid = any (array(
          select ctid from billing_sessions where expires_at < ${before} limit ${limit} for update skip locked))`,
  );
