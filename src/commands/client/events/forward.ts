/** Sends one event to a local receiver as the server's webhooks send it: same headers, same body, same client. */
import { randomUUID } from 'node:crypto';
import { createOutbound } from '../../../adapters/outbound/outbound.ts';
import { limits } from '../../../contract/limits.ts';
import type { Envelope } from '../../../kernel/delivery/envelope.ts';
import { signedHeaders } from '../../../kernel/delivery/signature.ts';
import { OutboundProblem } from '../../../kernel/ports/outbound.ts';

export interface Attempt {
  readonly number: number;
  /** The HTTP status, or the reason why there was none. */
  readonly result: number | string;
  readonly durationMs: number;
  readonly accepted: boolean;
  /** Undefined after the last attempt. */
  readonly nextInMs: number | undefined;
}

/** A developer waits for them, so they are shorter than those of the server. */
const waitsMs = [1_000, 3_000, 10_000] as const;
export const maxAttempts = waitsMs.length + 1;

/** Returns whether the receiver accepted the event. `report` is called after each attempt. */
type Forward = (envelope: Envelope, report: (attempt: Attempt) => void) => Promise<boolean>;

export function createForward(url: string, secret: string, sleep: (ms: number) => Promise<void>): Forward {
  // The user has typed the address: their own machine is the purpose. Redirects are not followed.
  const outbound = createOutbound({ allowPrivate: true });

  const send = async (envelope: Envelope, deliveryId: string): Promise<number | string> => {
    const payload = JSON.stringify(envelope);
    const timestamp = Math.floor(Date.now() / 1_000);
    const delivery = { deliveryId, eventType: envelope.type, payload, timestamp };
    try {
      const { status } = await outbound.send({
        method: 'POST',
        url,
        headers: signedHeaders(delivery, { current: secret }),
        body: payload,
        timeoutMs: limits.webhookTimeoutMs,
        maxBytes: limits.webhookResponseBytes,
        overflow: 'truncate',
      });
      return status;
    } catch (error) {
      if (error instanceof OutboundProblem) return error.message;
      throw error;
    }
  };

  return async (envelope, report) => {
    // The same for every attempt, as with webhooks.
    const deliveryId = randomUUID();
    for (let number = 1; ; number += 1) {
      const startedAt = performance.now();
      const result = await send(envelope, deliveryId);
      const accepted = typeof result === 'number' && result >= 200 && result < 300;
      const nextInMs = accepted ? undefined : waitsMs[number - 1];
      report({ number, result, accepted, nextInMs, durationMs: Math.round(performance.now() - startedAt) });
      if (nextInMs === undefined) return accepted;
      await sleep(nextInMs);
    }
  };
}
