/**
 * Writes `console_sessions`. The query of a request reads agents, organizations, credentials, people and connections too, so that a
 * session ends with them at once.
 */

import type { PlanTier } from '../../../contract/limits.ts';
import type { Scope } from '../../../contract/scopes.ts';
import type { Queryable } from '../../../kernel/data/db.ts';
import { prepared, type Sql, sql } from '../../../kernel/data/sql.ts';
import type { SessionOwner, SignInMethod } from './service.ts';

export interface StoredSession {
  readonly sessionId: string;
  readonly method: SignInMethod;
  /** Null in the session of a member. */
  readonly agentId: string | null;
  readonly agentName: string | null;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly organizationSlug: string;
  readonly planTier: PlanTier;
  /** Of the agent. */
  readonly rateLimitPerMinute: number | null;
  readonly scopes: readonly Scope[];
  /** The scopes that the agent may hold now. */
  readonly allowedScopes: readonly string[] | null;
  readonly credentialId: string | null;
  readonly connectionId: string | null;
  readonly person: (StoredPerson & { readonly email: string | null }) | null;
  readonly lastUsedAt: string;
  readonly expiresAt: string;
}

export interface StoredPerson {
  readonly personId: string;
  readonly name: string;
  readonly role: 'admin' | 'viewer' | 'member';
}

export interface Times {
  readonly now: Date;
  /** Sessions that were last used at this time or before have ended, except those of the command line. */
  readonly idleSince: Date;
}

/** The only kind of session without a limit of idle time. */
const isIdle = (idleSince: Date): Sql => sql`(s.last_used_at <= ${idleSince} and s.method <> 'command-line')`;

const liveSession = (which: Sql, { now, idleSince }: Times): Sql => sql`
      select s.session_id as "sessionId", s.method, s.agent_id as "agentId", a.email as "agentName",
        o.organization_id as "organizationId", o.name as "organizationName", o.slug as "organizationSlug", o.plan_tier as "planTier",
        a.rate_limit_per_minute as "rateLimitPerMinute", s.scopes,
        s.credential_id as "credentialId", s.connection_id as "connectionId", a.allowed_scopes as "allowedScopes", s.last_used_at as "lastUsedAt", s.expires_at as "expiresAt",
        case when p.person_id is not null then
          jsonb_build_object('personId', p.person_id, 'name', p.name, 'role', p.role, 'email', p.email) end as person
      from console_sessions s
      join organizations o on o.organization_id = s.organization_id
      left join agents a on a.agent_id = s.agent_id
      left join credentials c on c.credential_id = s.credential_id
      left join people p on p.person_id = s.person_id and p.agent_id is not distinct from s.agent_id and p.status = 'active'
      left join connections k on k.connection_id = s.connection_id
      where ${which} and s.expires_at > ${now} and not ${isIdle(idleSince)}
        and case when s.agent_id is null then s.person_id is not null
            else a.status = 'active' and (a.tokens_ended_at is null or s.created_at > a.tokens_ended_at) end
        and o.status = 'active'
        and (s.credential_id is null or (c.status = 'active' and (c.expires_at is null or c.expires_at > ${now})))
        and (s.person_id is null or p.person_id is not null)
        and (s.connection_id is null or k.status = 'active')`;

/** Undefined when there is no such session, or when it has ended for any reason. */
export const findSession = (
  db: Queryable,
  secretHash: Buffer,
  times: Times,
): Promise<StoredSession | undefined> =>
  db.maybe('console.findSession', prepared(liveSession(sql`s.secret_hash = ${secretHash}`, times)));

/** The same, by its id; its row is not deleted until the transaction ends. */
export const lockSession = (
  tx: Queryable,
  sessionId: string,
  times: Times,
): Promise<StoredSession | undefined> =>
  tx.maybe(
    'console.lockSession',
    sql`${liveSession(sql`s.session_id = ${sessionId}`, times)} for key share of s`,
  );

interface SessionInsert {
  readonly sessionId: string;
  readonly secretHash: Buffer;
  readonly method: SignInMethod;
  readonly agentId: string | null;
  readonly organizationId: string;
  readonly credentialId: string | null;
  readonly personId: string | null;
  readonly connectionId: string | null;
  readonly madeBy: string | null;
  readonly scopes: readonly string[];
  readonly now: Date;
  readonly expiresAt: Date;
}

/** Dated after the last end of the agent's tokens, by whichever clock. */
export async function insertSession(db: Queryable, session: SessionInsert): Promise<void> {
  const { sessionId, secretHash, method, agentId, organizationId, credentialId, personId, connectionId } =
    session;
  await db.run(
    'console.insertSession',
    sql`insert into console_sessions
          (session_id, secret_hash, method, agent_id, organization_id, credential_id, person_id, connection_id, made_by,
           scopes, created_at, last_used_at, expires_at)
        values (${sessionId}, ${secretHash}, ${method}, ${agentId}, ${organizationId}, ${credentialId}, ${personId},
          ${connectionId}, ${session.madeBy}, ${session.scopes},
          greatest(${session.now}, (select tokens_ended_at + interval '1 millisecond' from agents
                                    where agent_id = ${agentId})),
          ${session.now}, ${session.expiresAt})`,
  );
}

export async function touchSession(db: Queryable, sessionId: string, now: Date): Promise<void> {
  await db.run(
    'console.touchSession',
    sql`update console_sessions set last_used_at = ${now}
        where session_id = ${sessionId} and last_used_at < ${now}`,
  );
}

export interface EndedSession {
  readonly sessionId: string;
  readonly method: SignInMethod;
  readonly agentId: string | null;
  readonly organizationId: string;
  readonly person: StoredPerson | null;
}

const ended = sql`
  s.session_id as "sessionId", s.method, s.agent_id as "agentId", s.organization_id as "organizationId",
  (select jsonb_build_object('personId', p.person_id, 'name', p.name, 'role', p.role)
   from people p where p.person_id = s.person_id) as person`;

/**
 * Locks the rows in one order, so that two transactions do not deadlock. Then no session can get another one by a code, so the second
 * query finds all.
 */
async function deleteSessions(db: Queryable, which: Sql): Promise<EndedSession[]> {
  await db.many(
    'console.lockSessions',
    sql`select session_id from console_sessions where ${which} order by session_id for update`,
  );
  return db.many(
    'console.deleteSessions',
    sql`delete from console_sessions s where ${which} returning ${ended}`,
  );
}

/** With the sessions that its codes began. */
export const deleteSession = (db: Queryable, secretHash: Buffer): Promise<EndedSession[]> =>
  deleteSessions(
    db,
    sql`(secret_hash = ${secretHash}
         or made_by = (select session_id from console_sessions where secret_hash = ${secretHash}))`,
  );

function belongsTo(owner: SessionOwner): Sql {
  if ('agentId' in owner) return sql`agent_id = ${owner.agentId}`;
  if ('organizationId' in owner) return sql`organization_id = ${owner.organizationId}`;
  if ('credentialId' in owner) return sql`credential_id = ${owner.credentialId}`;
  if ('connectionId' in owner) return sql`connection_id = ${owner.connectionId}`;
  return sql`person_id = ${owner.personId}`;
}

export const deleteSessionsOf = (db: Queryable, owner: SessionOwner): Promise<EndedSession[]> =>
  deleteSessions(db, belongsTo(owner));

export type ExpiredSession = EndedSession & {
  readonly expired: boolean;
  readonly credentialExpired: boolean;
};

/**
 * Deletes up to `limit` sessions whose time is over, by themselves or with their credential. The sessions that they began for the command
 * line remain, until their own time is over.
 */
export const deleteExpiredSessions = (
  db: Queryable,
  { now, idleSince }: Times,
  limit: number,
): Promise<ExpiredSession[]> =>
  db.many(
    'console.deleteExpiredSessions',
    sql`with expired as (
          select s.session_id, coalesce(c.expires_at <= ${now}, false) as credential_expired
          from console_sessions s left join credentials c using (credential_id)
          where s.expires_at <= ${now} or ${isIdle(idleSince)} or c.expires_at <= ${now}
          limit ${limit} for update of s skip locked),
        remaining as (
          update console_sessions s set made_by = null from expired
          where s.made_by = expired.session_id and s.session_id not in (select session_id from expired))
        delete from console_sessions s using expired where s.session_id = expired.session_id
        returning ${ended},
          s.expires_at <= ${now} as expired, expired.credential_expired as "credentialExpired"`,
  );
