/**
 * `approval_notifications` as a queue: each row is a message that is still to be sent. A lease counts the attempt and moves the row's next
 * attempt to the end of the lease. The count is the fencing token: a process whose lease has expired cannot end its successor's.
 */

import type { Queryable } from '../../kernel/data/db.ts';
import { columnByUuid } from '../../kernel/data/encrypted-column.ts';
import { sql } from '../../kernel/data/sql.ts';
import { resourceName } from './store.ts';

export type NotificationKind = 'ping' | 'mail';

export const encryptedPings = columnByUuid('approvals', {
  table: 'approvals',
  key: 'approval_id',
  column: 'ping',
});

/**
 * One mail for each of these people with an address; people who have not signed in yet cannot decide. None when the agent has asked more
 * often than this since then.
 */
export async function insertMails(
  tx: Queryable,
  approval: { approvalId: string; expiresAt: string },
  mails: readonly { notificationId: string; personId: string }[],
  now: string,
  unlessMore: { readonly than: number; readonly since: string },
): Promise<void> {
  await tx.run(
    'approvals.insertMails',
    sql`insert into approval_notifications (notification_id, approval_id, kind, person_id, next_attempt_at, expires_at)
        select mail.id, ${approval.approvalId}, 'mail', mail.person_id, ${now}, ${approval.expiresAt}
        from unnest(${mails.map(({ notificationId }) => notificationId)}::uuid[],
                    ${mails.map(({ personId }) => personId)}::uuid[]) as mail (id, person_id)
          join people p on p.person_id = mail.person_id
        where p.status = 'active' and p.email is not null and p.issuer is not null
          and (select count(*) from approvals asked join approvals a using (agent_id)
               where a.approval_id = ${approval.approvalId} and asked.created_at > ${unlessMore.since}) <= ${unlessMore.than}`,
  );
}

export async function insertPing(
  tx: Queryable,
  ping: { notificationId: string; approvalId: string; now: string; expiresAt: string },
): Promise<void> {
  await tx.run(
    'approvals.insertPing',
    sql`insert into approval_notifications (notification_id, approval_id, kind, next_attempt_at, expires_at)
        values (${ping.notificationId}, ${ping.approvalId}, 'ping', ${ping.now}, ${ping.expiresAt})`,
  );
}

export interface NotificationJob {
  readonly notificationId: string;
  readonly approvalId: string;
  readonly organizationId: string;
  /** Of a mail. */
  readonly personId: string | null;
  /** This one included. */
  readonly attempts: number;
  readonly expiresAt: string;
}

/** Organizations take turns: the oldest of each, then the second of each. */
export const leaseNotifications = (
  db: Queryable,
  request: {
    readonly kind: NotificationKind;
    readonly now: string;
    readonly leaseExpiresAt: string;
    readonly capacity: number;
    readonly perOrganization: number;
    /** Organizations for which this process sends as many as it may. */
    readonly except: readonly string[];
  },
): Promise<NotificationJob[]> =>
  db.many(
    `approvals.lease${request.kind === 'ping' ? 'Pings' : 'Mails'}`,
    sql`with due as (
          select n.notification_id, n.next_attempt_at, a.organization_id,
                 row_number() over (partition by a.organization_id order by n.next_attempt_at) as rank
          from approval_notifications n join approvals a using (approval_id)
          where n.kind = ${request.kind} and n.next_attempt_at <= ${request.now} and n.expires_at > ${request.now}
            and a.organization_id <> all (${request.except}::uuid[])
        ), chosen as (
          select n.notification_id, due.organization_id
          from due join approval_notifications n using (notification_id)
          -- Again: another process may have leased it since.
          where n.next_attempt_at <= ${request.now} and due.rank <= ${request.perOrganization}
          order by due.rank, due.next_attempt_at limit ${request.capacity}
          for update of n skip locked
        )
        update approval_notifications n
        set attempts = n.attempts + 1, next_attempt_at = ${request.leaseExpiresAt}
        from chosen where n.notification_id = chosen.notification_id
        returning n.notification_id as "notificationId", n.approval_id as "approvalId",
                  chosen.organization_id as "organizationId", n.person_id as "personId", n.attempts,
                  n.expires_at as "expiresAt"`,
  );

/** Sent, or given up. The token of a ping has no further use. */
export async function endNotification(
  db: Queryable,
  { notificationId, attempts }: NotificationJob,
): Promise<void> {
  await db.run(
    'approvals.endNotification',
    sql`with ended as (
          delete from approval_notifications
          where notification_id = ${notificationId} and attempts = ${attempts}
          returning approval_id, kind
        )
        update approvals a set ping = null from ended
        where ended.kind = 'ping' and a.approval_id = ended.approval_id`,
  );
}

export async function postponeNotification(
  db: Queryable,
  { notificationId, attempts }: NotificationJob,
  nextAttemptAt: string,
): Promise<void> {
  await db.run(
    'approvals.postponeNotification',
    sql`update approval_notifications set next_attempt_at = ${nextAttemptAt}
        where notification_id = ${notificationId} and attempts = ${attempts}`,
  );
}

interface Ping {
  /** Sealed for the approval's id. */
  readonly sealed: string;
  readonly url: string;
}

/** Undefined when the agent has no address for it, or the agent or its organization has ended. */
export const findPing = (db: Queryable, approvalId: string): Promise<Ping | undefined> =>
  db.maybe(
    'approvals.findPing',
    sql`select a.ping as sealed, g.notification_uri as url
        from approvals a join agents g using (agent_id)
          join organizations o on o.organization_id = a.organization_id
        where a.approval_id = ${approvalId} and a.ping is not null and g.notification_uri is not null
          and g.status <> 'decommissioned' and o.status = 'active'`,
  );

export interface MailFacts {
  readonly email: string;
  /** By which the person signs in. */
  readonly connectionId: string | null;
  readonly agentName: string;
  /** Null: our own API. */
  readonly resourceName: string | null;
  readonly scopes: readonly string[];
  /** The types of its details. */
  readonly detailTypes: readonly string[];
  readonly accessSeconds: number;
  readonly expiresAt: string;
}

/** Undefined when the request was decided or has lapsed, or the person has approved it or can no longer decide it. */
export const findMail = (
  db: Queryable,
  { approvalId, personId }: NotificationJob,
  now: string,
): Promise<MailFacts | undefined> =>
  db.maybe(
    'approvals.findMail',
    sql`select p.email, p.connection_id as "connectionId", g.email as "agentName", ${resourceName} as "resourceName",
          a.scopes,
          array(select distinct detail ->> 'type' from jsonb_array_elements(coalesce(a.authorization_details, '[]')) as detail
                order by 1) as "detailTypes",
          a.access_seconds as "accessSeconds", a.expires_at as "expiresAt"
        from approvals a join agents g using (agent_id)
          join people p on p.person_id = ${personId} and p.organization_id = a.organization_id
          join organizations o on o.organization_id = a.organization_id
        where a.approval_id = ${approvalId} and a.status = 'pending' and a.expires_at > ${now}
          and p.status = 'active' and p.email is not null and o.status = 'active'
          and not a.approvals @> jsonb_build_array(jsonb_build_object('personId', p.person_id))`,
  );

export async function deleteExpiredNotifications(db: Queryable, now: string): Promise<void> {
  await db.run(
    'approvals.deleteExpiredNotifications',
    sql`delete from approval_notifications where expires_at <= ${now}`,
  );
}

/** Of decided requests whose ping is not sent any more. */
export async function erasePings(db: Queryable): Promise<void> {
  await db.run(
    'approvals.erasePings',
    sql`update approvals a set ping = null
        where a.ping is not null and a.status <> 'pending'
          and not exists (select from approval_notifications n where n.approval_id = a.approval_id and n.kind = 'ping')`,
  );
}
