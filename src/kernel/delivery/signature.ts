/**
 * Signs deliveries in two ways: as the spec defines it, with the text of the secret as the key; and as Standard Webhooks defines it,
 * with the bytes that the secret holds in base64 after its prefix. After a rotation the previous secret signs as well, for a while.
 */
import { createHmac } from 'node:crypto';

export const secretPrefix = 'whsec_';

interface SignedDelivery {
  readonly deliveryId: string;
  readonly eventType: string;
  /** The text of the body. */
  readonly payload: string;
  /** Unix seconds. */
  readonly timestamp: number;
}

interface SigningSecrets {
  readonly current: string;
  readonly previous?: string | undefined;
}

export function signedHeaders(
  delivery: SignedDelivery,
  { current, previous }: SigningSecrets,
): Record<string, string> {
  const { deliveryId, eventType, timestamp } = delivery;
  const standardSignatures = [current, ...(previous === undefined ? [] : [previous])].map((secret) =>
    standardSignature(delivery, secret),
  );
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'Countersign-Webhooks/1.0',
    'X-Service-Event': eventType,
    'X-Service-Delivery-Id': deliveryId,
    'X-Service-Timestamp': String(timestamp),
    'X-Service-Signature-256': specSignature(delivery, current),
    // A header of its own: receivers that follow the spec compare the whole value of the one above.
    ...(previous !== undefined && { 'X-Service-Signature-256-Previous': specSignature(delivery, previous) }),
    'webhook-id': deliveryId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': standardSignatures.join(' '),
  };
}

const specSignature = ({ timestamp, payload }: SignedDelivery, secret: string): string =>
  `sha256=${createHmac('sha256', secret).update(`${timestamp}.${payload}`).digest('hex')}`;

function standardSignature({ deliveryId, timestamp, payload }: SignedDelivery, secret: string): string {
  const key = Buffer.from(secret.slice(secretPrefix.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${deliveryId}.${timestamp}.${payload}`).digest('base64')}`;
}
