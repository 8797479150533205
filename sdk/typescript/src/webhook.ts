/** Verifies webhook deliveries. */
import { WebhookError } from './errors.ts';

/** The body of a delivery. */
export interface WebhookEvent {
  /** The same in every delivery of this event. Remember it: a delivery can come twice. */
  readonly id: string;
  /** Such as `agent.created`. */
  readonly type: string;
  readonly organizationId: string;
  /** When it happened, in ISO 8601. */
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface WebhookOptions {
  /** How old a delivery may be, or how far in the future. 300 seconds by default, a day at most. */
  readonly toleranceSeconds?: number;
  /** Milliseconds since 1970. */
  readonly now?: number;
}

export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

const maxToleranceSeconds = 86_400;
const timestampHeader = 'x-service-timestamp';
/** The second one is there for a while after a rotation, signed with the previous secret. */
const signatureHeaders = ['x-service-signature-256', 'x-service-signature-256-previous'];

/**
 * The event, if one of the secrets signed this body within the last five minutes. Throws a WebhookError otherwise.
 * `rawBody` must be the bytes as they arrived, before any parsing. During a rotation, pass the old and the new secret.
 */
export async function verifyWebhook(
  rawBody: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { toleranceSeconds = 300, now = Date.now() }: WebhookOptions = {},
): Promise<WebhookEvent> {
  const keys = await Promise.all([secrets].flat().map(importSecret));
  if (keys.length === 0) throw new TypeError('verifyWebhook needs a signing secret');
  // A comparison with NaN is false, so that every time would be accepted.
  if (!Number.isFinite(toleranceSeconds) || toleranceSeconds < 0 || toleranceSeconds > maxToleranceSeconds)
    throw new TypeError(`toleranceSeconds must be a number from 0 to ${maxToleranceSeconds}`);
  if (!Number.isFinite(now)) throw new TypeError('now must be milliseconds since 1970');
  const body = bytesOf(rawBody);
  const timestamp = readTimestamp(headers, now / 1000, toleranceSeconds);
  const signatures = signatureHeaders.map((name) => headerOf(headers, name));
  if (signatures.every((signature) => signature === undefined)) throw missing(signatureHeaders[0] as string);
  const signed = new TextEncoder().encode(`${timestamp}.`);
  const text = new Uint8Array(signed.length + body.length);
  text.set(signed);
  text.set(body, signed.length);

  let isGenuine = false;
  // WebCrypto compares in constant time.
  for (const signature of signatures.map(readSignature))
    for (const key of keys)
      if (signature && (await crypto.subtle.verify('HMAC', key, signature, text))) isGenuine = true;
  if (!isGenuine) throw new WebhookError('invalid_signature', 'no secret has signed this delivery');
  return readEvent(body);
}

function importSecret(secret: string): Promise<CryptoKey> {
  // An empty key would accept signatures that need no secret.
  if (typeof secret !== 'string' || secret === '')
    throw new TypeError('a signing secret must not be empty: is the environment variable set?');
  return crypto.subtle.importKey(
    'raw',
    new TextEncoder().encode(secret),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['verify'],
  );
}

function bytesOf(rawBody: string | Uint8Array | ArrayBuffer): Uint8Array {
  if (typeof rawBody === 'string') return new TextEncoder().encode(rawBody);
  if (rawBody instanceof ArrayBuffer) return new Uint8Array(rawBody);
  if (ArrayBuffer.isView(rawBody))
    return new Uint8Array(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength);
  throw new TypeError(
    'rawBody must be the bytes or the text of the body as they arrived, not a parsed object',
  );
}

function readTimestamp(headers: WebhookHeaders, nowSeconds: number, tolerance: number): string {
  const timestamp = headerOf(headers, timestampHeader);
  if (timestamp === undefined) throw missing(timestampHeader);
  if (!/^[0-9]{1,12}$/.test(timestamp))
    throw new WebhookError('invalid_timestamp', `${timestampHeader} is not one number`);
  if (Math.abs(nowSeconds - Number(timestamp)) > tolerance)
    throw new WebhookError(
      'timestamp_out_of_tolerance',
      `the delivery is more than ${tolerance} seconds old, or the clocks differ`,
    );
  return timestamp;
}

function readSignature(header: string | undefined): Uint8Array<ArrayBuffer> | undefined {
  const [, hex] = /^sha256=([0-9a-f]{64})$/i.exec(header ?? '') ?? [];
  return hex === undefined
    ? undefined
    : Uint8Array.from({ length: 32 }, (_, at) => Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16));
}

/** A header that is there twice has its values joined, as Headers does: such a value is not valid. */
function headerOf(headers: WebhookHeaders, name: string): string | undefined {
  if (typeof (headers as Headers).get === 'function') return (headers as Headers).get(name) ?? undefined;
  const values = Object.entries(headers).flatMap(([each, value]) =>
    each.toLowerCase() === name && value !== undefined ? (value as string | readonly string[]) : [],
  );
  return values.length === 0 ? undefined : values.join(', ');
}

const missing = (name: string) => new WebhookError('missing_header', `the delivery has no header ${name}`);

function readEvent(body: Uint8Array): WebhookEvent {
  try {
    const event = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    if (typeof event?.id === 'string' && typeof event.type === 'string') return event;
  } catch {
    // The secret has signed something else.
  }
  throw new WebhookError('invalid_body', 'the body is not an event');
}
