/**
 * Checks a signed card of an agent in the browser: the signature with the keys of the instance's DID document, and that the card is
 * about this agent. The server's word is not enough for it: only the published keys are.
 */
import {
  base64UrlOfText,
  type PublishedKey,
  readHeader,
  textOfBase64Url,
  verifySignature,
} from './verify-jws.ts';

const signedFormats = ['badge', 'a2a', 'oasf'] as const;
export type SignedFormat = (typeof signedFormats)[number];

interface CardCheck {
  readonly label: string;
  readonly ok: boolean;
  readonly detail: string;
}

export interface CardVerification {
  readonly verified: boolean;
  readonly checks: readonly CardCheck[];
  /** The signed text, decoded. */
  readonly content: unknown;
}

/** The instance's DID document, as far as it is needed. */
export interface InstanceDocument {
  readonly id: string;
  readonly verificationMethod: readonly PublishedKey[];
  readonly assertionMethod?: readonly string[];
}

interface Signed {
  readonly header: string;
  readonly payload: string;
  readonly signature: string;
  /** The type that the header must name. */
  readonly typ: string;
  readonly content: unknown;
  /** The DID that the card is about. */
  readonly subject: unknown;
  readonly more: readonly CardCheck[];
}

type Json = Readonly<Record<string, unknown>>;
const at = (value: unknown, ...path: (string | number)[]): unknown =>
  path.reduce<unknown>((inner, name) => (inner as Json | undefined)?.[name], value);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

const without = (card: Json, name: string): Json =>
  Object.fromEntries(Object.entries(card).filter(([member]) => member !== name));

/** A2A 1.0 §8.4: the canonical card without signatures and empty lists. */
function readA2a(card: Json): Signed {
  const filled = Object.entries(without(card, 'signatures')).filter(
    ([, member]) => !(Array.isArray(member) && member.length === 0),
  );
  const content = Object.fromEntries(filled);
  return {
    header: text(at(card, 'signatures', 0, 'protected')),
    payload: base64UrlOfText(canonicalJson(content)),
    signature: text(at(card, 'signatures', 0, 'signature')),
    typ: 'JOSE',
    content,
    subject: at(card, 'capabilities', 'extensions', 0, 'params', 'did'),
    more: [],
  };
}

/** The bundle is a compact JWS without its payload, which is the canonical record without `signature`. */
function readOasf(record: Json): Signed {
  const content = without(record, 'signature');
  const [header = '', , signature = ''] = atob(text(at(record, 'signature', 'content_bundle'))).split('.');
  return {
    header,
    payload: base64UrlOfText(canonicalJson(content)),
    signature,
    typ: 'JOSE',
    content,
    subject: at(record, 'annotations', 'did'),
    more: [],
  };
}

const prefix = 'data:application/vc+jwt,';

function readBadge(envelope: Json, instance: string, now: number): Signed {
  const id = text(envelope.id);
  const [header = '', payload = '', signature = ''] = id.startsWith(prefix)
    ? id.slice(prefix.length).split('.')
    : [];
  const content: unknown = JSON.parse(textOfBase64Url(payload));
  const [from, until] = [text(at(content, 'validFrom')), text(at(content, 'validUntil'))];
  return {
    header,
    payload,
    signature,
    typ: 'vc+jwt',
    content,
    subject: at(content, 'credentialSubject', 'id'),
    more: [
      {
        label: 'Issued by this instance',
        ok: at(content, 'issuer') === instance,
        detail: text(at(content, 'issuer')),
      },
      {
        label: 'Valid now',
        ok: Date.parse(from) <= now && now < Date.parse(until),
        detail: `${from} to ${until}`,
      },
    ],
  };
}

const readers: Readonly<Record<SignedFormat, (card: Json, instance: string, now: number) => Signed>> = {
  a2a: readA2a,
  oasf: readOasf,
  badge: readBadge,
};

const failed = (label: string, detail: string): CardVerification => ({
  verified: false,
  checks: [{ label, ok: false, detail }],
  content: undefined,
});

async function checkSignature(signed: Signed, key: PublishedKey | undefined): Promise<CardCheck> {
  const label = 'Signature matches the content';
  if (key === undefined) return { label, ok: false, detail: 'without a key it cannot be checked' };
  try {
    const ok = await verifySignature(signed, key);
    const { alg = '' } = readHeader(signed.header);
    return {
      label,
      ok,
      detail: ok ? `${alg}, checked in this browser` : `the ${alg} signature is of another text`,
    };
  } catch (error) {
    return { label, ok: false, detail: (error as Error).message };
  }
}

export async function verifyCard(
  format: SignedFormat,
  card: unknown,
  { did, instance, now }: { did: string; instance: InstanceDocument; now: number },
): Promise<CardVerification> {
  let signed: Signed;
  let kid: string;
  try {
    signed = readers[format](card as Json, instance.id, now);
    kid = text(readHeader(signed.header).kid);
  } catch {
    return failed('Readable', 'the card has no readable signature');
  }
  const allowed = instance.assertionMethod?.includes(kid) ?? false;
  const key = allowed ? instance.verificationMethod.find(({ id }) => id === kid) : undefined;
  const checks: CardCheck[] = [
    { label: 'Key is published', ok: key !== undefined, detail: kid || 'the signature names no key' },
    await checkSignature(signed, key),
    { label: 'About this agent', ok: signed.subject === did, detail: text(signed.subject) },
    ...signed.more,
  ];
  return { verified: checks.every(({ ok }) => ok), checks, content: signed.content };
}

/** Canonical JSON (RFC 8785) of a value that was parsed from JSON: sorted names, no blanks. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  // The default order of `sort` is that of UTF-16 code units, which the RFC requires.
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`;
}
