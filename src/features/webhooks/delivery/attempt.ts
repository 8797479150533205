/** One attempt at one delivery: prepares the request, sends it, and derives the status and the time of the next attempt. */

import { limits } from '../../../contract/limits.ts';
import { VaultProblem } from '../../../kernel/data/vault.ts';
import { signedHeaders } from '../../../kernel/delivery/signature.ts';
import { type Outbound, OutboundProblem } from '../../../kernel/ports/outbound.ts';
import type { DeliveryDeps } from '../feature.ts';
import type { Job } from './lease-store.ts';
import { responseExcerpt } from './response-excerpt.ts';
import type { AttemptResult } from './result-store.ts';
import { nextAttemptAt } from './retry-schedule.ts';

interface SendResult {
  readonly httpStatus: number | null;
  readonly error: string | null;
  /** The beginning of the response. */
  readonly excerpt?: string | null;
  /** For the log, when it says more than `error`. */
  readonly reason?: string;
}

/** Failures of the endpoint are results; it throws only on a defect of ours. */
export function createAttempt({ clock, log, outbound, vault, settings }: DeliveryDeps) {
  /** Undefined when there is none, its time is over, or it cannot be read: the current secret is enough to send. */
  const openPrevious = (job: Job, now: number): string | undefined => {
    const { sealedPreviousSecret: sealed, previousSecretExpiresAt: expiresAt, subscriptionId } = job;
    if (sealed === null || expiresAt === null || Date.parse(expiresAt) <= now) return undefined;
    try {
      return vault.open(sealed, subscriptionId);
    } catch (error) {
      if (!(error instanceof VaultProblem)) throw error;
      log.warn(
        { err: error, subscriptionId },
        'previous signing secret cannot be opened; the delivery is signed with the current one only',
      );
      return undefined;
    }
  };

  const prepare = (job: Job, now: number): Parameters<Outbound['send']>[0] => {
    const { deliveryId, eventType, payload } = job;
    const secrets = {
      current: vault.open(job.sealedSecret, job.subscriptionId),
      previous: openPrevious(job, now),
    };
    const timestamp = Math.floor(now / 1000);
    return {
      method: 'POST',
      url: job.url,
      headers: signedHeaders({ deliveryId, eventType, payload, timestamp }, secrets),
      body: payload,
      timeoutMs: settings.timeoutMs,
      maxBytes: limits.webhookResponseBytes,
      // Only the status counts, and it precedes the body, whose beginning is stored.
      overflow: 'truncate',
    };
  };

  const send = async (job: Job, now: number): Promise<SendResult> => {
    try {
      const { status, body } = await outbound.send(prepare(job, now));
      const excerpt = settings.keepResponses ? responseExcerpt(body) : null;
      return { httpStatus: status, error: null, excerpt };
    } catch (error) {
      if (error instanceof OutboundProblem)
        return { httpStatus: null, error: error.message, reason: error.detail };
      if (!(error instanceof VaultProblem)) throw error;
      log.error(
        { err: error, subscriptionId: job.subscriptionId },
        'signing secret cannot be opened; the delivery counts as failed',
      );
      return { httpStatus: null, error: 'the signing secret cannot be read on this instance' };
    }
  };

  return async (job: Job): Promise<AttemptResult> => {
    const startedAt = clock.now();
    const { httpStatus, error, excerpt = null, reason = error } = await send(job, startedAt);
    const endedAt = clock.now();
    const next = nextAttemptAt(job.attemptCount + 1, endedAt, settings.maxAttempts);
    const accepted = httpStatus !== null && httpStatus >= 200 && httpStatus < 300;
    return {
      job,
      status: accepted ? 'delivered' : next === undefined ? 'dead_letter' : 'failed',
      nextRetryAt: accepted || next === undefined ? null : isoOf(next),
      at: isoOf(endedAt),
      attempt: {
        attempted_at: isoOf(startedAt),
        duration_ms: Math.max(0, Math.round(endedAt - startedAt)),
        http_status_code: httpStatus,
        error,
        response_excerpt: excerpt,
      },
      reason,
    };
  };
}

const isoOf = (time: number): string => new Date(time).toISOString();
