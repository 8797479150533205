/** The deliveries that `verifyWebhook` of all SDKs must accept or refuse, signed by the code that signs real ones. */
import { createHmac } from 'node:crypto';
import { signedHeaders } from '../../../src/kernel/delivery/signature.ts';

export interface WebhookCase {
  readonly name: string;
  readonly secrets: readonly string[];
  /** A list has one entry for each header of that name. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string;
  /** The time of the verification in Unix seconds. */
  readonly now: number;
  readonly valid: boolean;
  /** The code of the refusal. */
  readonly reason?: string;
}

type Headers = WebhookCase['headers'];

const now = 1_790_000_000;
const secretOf = (letter: string) => `whsec_${Buffer.from(letter.repeat(32)).toString('base64')}`;
const [secret, oldSecret, otherSecret] = [secretOf('n'), secretOf('o'), secretOf('x')] as const;
const timestamp = 'X-Service-Timestamp';
const signature = 'X-Service-Signature-256';
const previousSignature = 'X-Service-Signature-256-Previous';

const event = {
  id: '0190d6c0-0000-7000-8000-000000000001',
  type: 'agent.created',
  organizationId: '00000000-0000-4000-8000-000000000001',
  timestamp: '2026-09-21T14:13:20.000Z',
  data: {
    agentId: '00000000-0000-4000-8000-000000000010',
    owner: 'Zoë — \u{1F511} "quoted"',
    status: 'active',
  },
};
const body = JSON.stringify(event);

const signed = (
  options: { at?: number; current?: string; previous?: string; payload?: string } = {},
): Headers =>
  signedHeaders(
    {
      deliveryId: '0190d6c0-0000-7000-8000-000000000002',
      eventType: event.type,
      payload: options.payload ?? body,
      timestamp: options.at ?? now,
    },
    { current: options.current ?? secret, previous: options.previous },
  );
const headers = signed();
const afterRotation = signed({ previous: oldSecret });
const genuine = String(headers[signature]);

/** Of any text, as a receiver would compute it. */
const signatureOf = (timestampText: string, key = secret) =>
  `sha256=${createHmac('sha256', key).update(`${timestampText}.${body}`).digest('hex')}`;
const withTimestamp = (text: string): Headers => ({
  ...headers,
  [timestamp]: text,
  [signature]: signatureOf(text),
});

const without = (source: Headers, ...names: readonly string[]): Headers =>
  Object.fromEntries(Object.entries(source).filter(([name]) => !names.includes(name)));

const accept = (name: string, changes: Partial<WebhookCase> = {}): WebhookCase => ({
  name,
  secrets: [secret],
  headers,
  body,
  now,
  valid: true,
  ...changes,
});

const refuse = (name: string, reason: string, changes: Partial<WebhookCase>): WebhookCase => ({
  ...accept(name, changes),
  valid: false,
  reason,
});

const accepted: readonly WebhookCase[] = [
  accept('genuine'),
  accept('genuine, one of several secrets', { secrets: [otherSecret, secret] }),
  accept('names of the headers in lower case', {
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
  }),
  accept('the signature in capitals', {
    headers: { ...headers, [signature]: `sha256=${genuine.slice(7).toUpperCase()}` },
  }),
  accept('five minutes old', { headers: signed({ at: now - 300 }) }),
  accept('five minutes in the future', { headers: signed({ at: now + 300 }) }),
  accept('after a rotation, the receiver has the new secret', { headers: afterRotation }),
  accept('after a rotation, the receiver has the previous secret', {
    headers: afterRotation,
    secrets: [oldSecret],
  }),
  accept('after a rotation, the receiver has both secrets', {
    headers: afterRotation,
    secrets: [oldSecret, secret],
  }),
  accept('after a rotation, the receiver has both secrets, and only the new one signs', {
    secrets: [oldSecret, secret],
  }),
  accept('the headers of Standard Webhooks are missing', {
    headers: without(headers, 'webhook-id', 'webhook-timestamp', 'webhook-signature'),
  }),
];

const badTimestamp = (name: string, text: string) =>
  refuse(`the timestamp ${name}`, 'invalid_timestamp', { headers: withTimestamp(text) });
const badSignature = (name: string, value: string | readonly string[], source: Headers = headers) =>
  refuse(`the signature ${name}`, 'invalid_signature', { headers: { ...source, [signature]: value } });

const noEvent = (name: string, text: string) =>
  refuse(`signed, but ${name}`, 'invalid_body', { headers: signed({ payload: text }), body: text });

const refused: readonly WebhookCase[] = [
  refuse('another secret', 'invalid_signature', { secrets: [otherSecret] }),
  refuse('the previous secret, after the overlap', 'invalid_signature', { secrets: [oldSecret] }),
  refuse('another body', 'invalid_signature', { body: body.replace('active', 'suspended') }),
  refuse('the body with a space more', 'invalid_signature', { body: `${body} ` }),
  refuse('the body was parsed and written again', 'invalid_signature', {
    body: JSON.stringify(event, undefined, 2),
  }),
  refuse('an empty body', 'invalid_signature', { body: '' }),
  refuse('another timestamp than the signed one', 'invalid_signature', {
    headers: { ...headers, [timestamp]: String(now + 1) },
  }),
  refuse('older than five minutes', 'timestamp_out_of_tolerance', { headers: signed({ at: now - 301 }) }),
  refuse('a year old', 'timestamp_out_of_tolerance', { headers: signed({ at: now - 31_536_000 }) }),
  refuse('more than five minutes in the future', 'timestamp_out_of_tolerance', {
    headers: signed({ at: now + 301 }),
  }),
  refuse('older than five minutes, after a rotation', 'timestamp_out_of_tolerance', {
    headers: signed({ at: now - 301, previous: oldSecret }),
    secrets: [oldSecret],
  }),
  // The time is checked first.
  refuse('older than five minutes, and another secret', 'timestamp_out_of_tolerance', {
    headers: signed({ at: now - 301 }),
    secrets: [otherSecret],
  }),
  refuse('older than five minutes, and no signature', 'timestamp_out_of_tolerance', {
    headers: without(signed({ at: now - 301 }), signature),
  }),
  refuse('no number as the timestamp, and no signature', 'invalid_timestamp', {
    headers: { ...without(headers, signature), [timestamp]: 'now' },
  }),
  badTimestamp('is empty', ''),
  badTimestamp('is not a number', 'now'),
  badTimestamp('has a fraction', `${now}.5`),
  badTimestamp('has a sign', `+${now}`),
  badTimestamp('is hexadecimal', `0x${now.toString(16)}`),
  badTimestamp('is in milliseconds', String(now * 1000)),
  badTimestamp('has other digits', '١٧٩٠٠٠٠٠٠٠'),
  refuse('the timestamp is there twice', 'invalid_timestamp', {
    headers: { ...headers, [timestamp]: [String(now), String(now)] },
  }),
  refuse('the timestamp is there twice, in a joined header', 'invalid_timestamp', {
    headers: { ...headers, [timestamp]: `${now}, ${now}` },
  }),
  refuse('no timestamp', 'missing_header', { headers: without(headers, timestamp) }),
  refuse('no signature', 'missing_header', { headers: without(headers, signature) }),
  refuse('no headers', 'missing_header', { headers: {} }),
  refuse('only the headers of Standard Webhooks', 'missing_header', {
    headers: without(headers, timestamp, signature),
  }),
  badSignature('is empty', ''),
  badSignature('has no prefix', genuine.slice(7)),
  badSignature('has another prefix', `sha1=${genuine.slice(7)}`),
  badSignature('is cut', genuine.slice(0, -2)),
  badSignature('has more digits', `${genuine}00`),
  badSignature('has a digit that is not hexadecimal', `${genuine.slice(0, -1)}g`),
  badSignature('has one other digit', `${genuine.slice(0, -1)}${genuine.endsWith('0') ? '1' : '0'}`),
  badSignature('is there twice', [genuine, genuine]),
  badSignature('is there twice, in a joined header', `${genuine}, ${genuine}`),
  badSignature('is that of Standard Webhooks', String(headers['webhook-signature'])),
  refuse('the previous signature alone, with another secret', 'invalid_signature', {
    headers: { ...without(headers, signature), [previousSignature]: signatureOf(String(now), otherSecret) },
  }),
  refuse('the previous signature is there twice', 'invalid_signature', {
    headers: {
      ...afterRotation,
      [previousSignature]: Array.from({ length: 2 }, () => String(afterRotation[previousSignature])),
    },
    secrets: [oldSecret],
  }),
  noEvent('empty', ''),
  noEvent('not JSON', 'ping'),
  noEvent('null', 'null'),
  noEvent('a list', `[${body}]`),
  noEvent('an event without id', JSON.stringify({ ...event, id: undefined })),
  noEvent('an event whose type is a number', JSON.stringify({ ...event, type: 1 })),
];

export const webhookCases: readonly WebhookCase[] = [...accepted, ...refused];
