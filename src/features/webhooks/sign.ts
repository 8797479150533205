/**
 * How a receiver knows that a delivery is ours. The secret as shown is the key of the interface's signature, character by
 * character; what follows its prefix is base64, and those bytes are the key of Standard Webhooks.
 */
import { createHmac } from 'node:crypto';

export const signingPrefix = 'whsec_';

export interface Delivered {
  readonly deliveryId: string;
  readonly eventType: string;
  /** The text of the body. */
  readonly payload: string;
  /** Unix seconds. */
  readonly timestamp: number;
}

export function headersOf(delivered: Delivered, secret: string): Record<string, string> {
  const { deliveryId, eventType, payload, timestamp } = delivered;
  const standardKey = Buffer.from(secret.slice(signingPrefix.length), 'base64');
  const ours = createHmac('sha256', secret).update(`${timestamp}.${payload}`).digest('hex');
  const standard = createHmac('sha256', standardKey)
    .update(`${deliveryId}.${timestamp}.${payload}`)
    .digest('base64');
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'Countersign-Webhooks/1.0',
    'X-Service-Event': eventType,
    'X-Service-Delivery-Id': deliveryId,
    'X-Service-Timestamp': String(timestamp),
    'X-Service-Signature-256': `sha256=${ours}`,
    'webhook-id': deliveryId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${standard}`,
  };
}
