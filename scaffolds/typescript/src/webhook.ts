import { createHmac, timingSafeEqual } from 'node:crypto';

/** Deliveries older than this are refused, so that a recorded one cannot be played again later. */
const toleranceSeconds = 300;

export interface Delivery {
  /** The header X-Service-Timestamp. */
  readonly timestamp: string;
  /** The header X-Service-Signature-256. */
  readonly signature: string;
  /** The body exactly as it came, before any parsing. */
  readonly body: Uint8Array;
}

/** Throws unless the delivery was signed with this secret, within the last five minutes. */
export function verifyWebhook(secret: string, delivery: Delivery, now = Date.now()): void {
  if (!/^\d{1,12}$/.test(delivery.timestamp)) throw new Error('the timestamp is not a number');
  if (Math.abs(now / 1000 - Number(delivery.timestamp)) > toleranceSeconds) {
    throw new Error('the delivery is more than five minutes old, or the clocks differ');
  }
  const expected = createHmac('sha256', secret)
    .update(`${delivery.timestamp}.`)
    .update(delivery.body)
    .digest();
  const [, hex = ''] = /^sha256=([0-9a-f]{64})$/i.exec(delivery.signature) ?? [];
  const given = Buffer.from(hex, 'hex');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw new Error('the signature does not match');
  }
}
