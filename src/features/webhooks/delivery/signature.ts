/**
 * Signs deliveries in two ways: as the spec defines it, with the text of the secret as the key; and as Standard Webhooks defines it,
 * with the bytes that the secret holds in base64 after its prefix.
 */
import { createHmac } from 'node:crypto';

export const secretPrefix = 'whsec_';

export interface SignedDelivery {
  readonly deliveryId: string;
  readonly eventType: string;
  /** The text of the body. */
  readonly payload: string;
  /** Unix seconds. */
  readonly timestamp: number;
}

export function signedHeaders(delivery: SignedDelivery, secret: string): Record<string, string> {
  const { deliveryId, eventType, payload, timestamp } = delivery;
  const standardKey = Buffer.from(secret.slice(secretPrefix.length), 'base64');
  const specSignature = createHmac('sha256', secret).update(`${timestamp}.${payload}`).digest('hex');
  const standardSignature = createHmac('sha256', standardKey)
    .update(`${deliveryId}.${timestamp}.${payload}`)
    .digest('base64');
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'Countersign-Webhooks/1.0',
    'X-Service-Event': eventType,
    'X-Service-Delivery-Id': deliveryId,
    'X-Service-Timestamp': String(timestamp),
    'X-Service-Signature-256': `sha256=${specSignature}`,
    'webhook-id': deliveryId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${standardSignature}`,
  };
}
