/**
 * Tells people by mail that a request waits for them, and agents by ping that theirs was decided (CIBA, ping mode). The rows are written
 * in the transaction of the change, so that nothing is lost when a process is killed. Neither message decides anything: the mail leads
 * to the page, and the agent gets its tokens at the token endpoint.
 */

import { limits } from '../../contract/limits.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { type Vault, VaultProblem } from '../../kernel/data/vault.ts';
import { type Mailer, MailProblem } from '../../kernel/ports/mail.ts';
import { type Outbound, OutboundProblem } from '../../kernel/ports/outbound.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import { approvalUrl } from './approval.ts';
import { mailOf } from './mail-text.ts';
import { createNotificationSender, type SendResult } from './notification-sender.ts';
import {
  deleteExpiredNotifications,
  erasePings,
  findMail,
  findPing,
  insertMails,
  insertPing,
  type NotificationJob,
} from './notifications-store.ts';

/** The service calls these inside the transaction of the change. */
export interface ApprovalNotifications {
  /** A mail to each of these people with a verified e-mail, when mail is configured and the agent has not asked too often. */
  requested(
    tx: Tx,
    approval: { approvalId: string; expiresAt: string },
    personIds: readonly string[],
  ): Promise<void>;
  /** A ping to the agent, for every end of a request but the agent's own cancellation. */
  decided(tx: Tx, approval: { approvalId: string; hasPing: boolean }): Promise<void>;
}

export interface ApprovalNotificationDeps extends Pick<SharedDeps, 'db' | 'clock' | 'ids' | 'log'> {
  readonly outbound: Outbound;
  /** Opens `approvals.ping`, which is sealed for the approval's id. */
  readonly vault: Vault;
  /** Undefined: no mails. */
  readonly mailer: Mailer | undefined;
  readonly baseUrl: string;
  pause(milliseconds: number): Promise<void>;
}

/** An agent that asks and cancels in a loop does not fill mailboxes: the limit of open requests holds for mails of this time. */
const mailWindowMs = 600_000;
const pingTimeoutMs = 10_000;
/** Longer than all attempts together. */
const pingLifetimeMs = 1_800_000;

export function createApprovalNotifications(deps: ApprovalNotificationDeps): ApprovalNotifications & {
  readonly loops: readonly Loop[];
  /** Sends everything that is due now, and waits for the results. */
  drain(): Promise<void>;
  /** Deletes lapsed notifications, and the tokens of pings that are not sent any more. */
  purge(): Promise<void>;
} {
  const { db, clock, ids, vault, outbound, mailer, baseUrl } = deps;

  const sendPing = async ({ approvalId }: NotificationJob): Promise<SendResult> => {
    const ping = await findPing(db, approvalId);
    if (!ping) return { outcome: 'sent' };
    try {
      const { authReqId, token } = JSON.parse(vault.open(ping.sealed, approvalId));
      const { status } = await outbound.send({
        method: 'POST',
        url: ping.url,
        headers: {
          'Content-Type': 'application/json',
          'User-Agent': 'Countersign-Approvals/1.0',
          Authorization: `Bearer ${token}`,
        },
        body: JSON.stringify({ auth_req_id: authReqId }),
        timeoutMs: pingTimeoutMs,
        // Only the status counts.
        maxBytes: 1_024,
        overflow: 'truncate',
      });
      return resultOf(status);
    } catch (error) {
      if (error instanceof OutboundProblem) return { outcome: 'failed', reason: error.detail };
      if (error instanceof VaultProblem)
        return { outcome: 'failed', reason: `the notification token cannot be read: ${error.message}` };
      throw error;
    }
  };

  const pings = createNotificationSender(deps, 'ping', sendPing);

  const sendMail =
    ({ send }: Mailer) =>
    async (job: NotificationJob): Promise<SendResult> => {
      const facts = await findMail(db, job, isoTime(clock));
      if (!facts) return { outcome: 'sent' };
      try {
        const page = approvalUrl(baseUrl, job.approvalId);
        const url = facts.connectionId === null ? page : `${page}?connectionId=${facts.connectionId}`;
        await send(mailOf(facts, { id: job.notificationId, url }));
        return { outcome: 'sent' };
      } catch (error) {
        if (!(error instanceof MailProblem)) throw error;
        return { outcome: error.isFinal ? 'refused' : 'failed', reason: error.message };
      }
    };

  const mails = mailer && createNotificationSender(deps, 'mail', sendMail(mailer));

  const purge = async () => {
    await deleteExpiredNotifications(db, isoTime(clock));
    await erasePings(db);
  };

  return {
    async requested(tx, approval, personIds) {
      if (!mailer || personIds.length === 0) return;
      const rows = personIds.map((personId) => ({ notificationId: ids.uuid(), personId }));
      const since = new Date(clock.now() - mailWindowMs).toISOString();
      await insertMails(tx, approval, rows, isoTime(clock), { than: limits.approval.openPerAgent, since });
    },
    async decided(tx, { approvalId, hasPing }) {
      if (!hasPing) return;
      const now = isoTime(clock);
      const expiresAt = new Date(clock.now() + pingLifetimeMs).toISOString();
      await insertPing(tx, { notificationId: ids.uuid(), approvalId, now, expiresAt });
    },
    loops: [
      pings.loop,
      ...(mails ? [mails.loop] : []),
      { name: 'approvals-notifications-purge', everyMs: 60_000, purges: true, run: purge },
    ],
    async drain() {
      await pings.drain();
      await mails?.drain();
    },
    purge,
  };
}

/** CIBA Core 1.0, section 10.2: 2xx is success; a redirect is not followed. An error of the client is final, unless it says to try later. */
function resultOf(status: number): SendResult {
  if (status >= 200 && status < 300) return { outcome: 'sent' };
  const isFinal = status >= 400 && status < 500 && status !== 408 && status !== 429;
  return { outcome: isFinal ? 'refused' : 'failed', reason: `the agent answered ${status}` };
}
