/** One attempt at one delivery: prepare, send, judge. */
import { limits } from '../../contract/limits.ts';
import { VaultProblem } from '../../kernel/data/vault.ts';
import { type Outbound, OutboundProblem } from '../../kernel/ports/outbound.ts';
import type { DeliveryDeps } from './deps.ts';
import type { Job, Settlement } from './queue-store.ts';
import { nextAttemptAt } from './retry.ts';
import { headersOf } from './sign.ts';

interface Outcome {
  readonly httpStatus: number | null;
  readonly error: string | null;
  /** For the log; the same as `error`, unless it says more. */
  readonly reason?: string;
}

/** Says how it went; throws only over a defect of ours. */
export function createAttempt({ clock, log, outbound, vault, settings }: DeliveryDeps) {
  const prepare = (job: Job, now: number): Parameters<Outbound['send']>[0] => {
    const { deliveryId, eventType, payload } = job;
    const secret = vault.open(job.sealedSecret, job.subscriptionId);
    const timestamp = Math.floor(now / 1000);
    return {
      method: 'POST',
      url: job.url,
      headers: headersOf({ deliveryId, eventType, payload, timestamp }, secret),
      body: payload,
      timeoutMs: settings.timeoutMs,
      maxBytes: limits.webhookResponseBytes,
      // Its status has been said by then, and that is what counts.
      overflow: 'truncate',
    };
  };

  const send = async (job: Job, now: number): Promise<Outcome> => {
    try {
      const { status } = await outbound.send(prepare(job, now));
      return { httpStatus: status, error: null };
    } catch (error) {
      if (error instanceof OutboundProblem)
        return { httpStatus: null, error: error.message, reason: error.detail };
      if (!(error instanceof VaultProblem)) throw error;
      log.error({ err: error, subscriptionId: job.subscriptionId }, 'a signing secret cannot be read');
      return { httpStatus: null, error: 'the signing secret cannot be read on this instance' };
    }
  };

  return async (job: Job): Promise<Settlement> => {
    const begun = clock.now();
    const { httpStatus, error, reason = error } = await send(job, begun);
    const ended = clock.now();
    const next = nextAttemptAt(job.attemptCount + 1, ended, settings.maxAttempts);
    const accepted = httpStatus !== null && httpStatus >= 200 && httpStatus < 300;
    return {
      job,
      status: accepted ? 'delivered' : next === undefined ? 'dead_letter' : 'failed',
      nextRetryAt: accepted || next === undefined ? null : isoOf(next),
      at: isoOf(ended),
      attempt: {
        attempted_at: isoOf(begun),
        duration_ms: Math.max(0, Math.round(ended - begun)),
        http_status_code: httpStatus,
        error,
      },
      reason,
    };
  };
}

const isoOf = (time: number): string => new Date(time).toISOString();
