/**
 * The usual line of an export: a link with its event, as our export writes them, and with flat metadata. One regular expression
 * reads it. Its shape alone proves that no field is repeated or unknown, that the event has the organization, id and time of
 * its link, and that its text is a JSON object. Any other line is read by JSON.parse and checked step by step (export-lines.ts).
 */
import { eventText, usualLinkRecord } from './hashes.ts';
import type { LinkEvidence } from './verify-chain.ts';

/** Longer lines could exceed the stack of the regular expression. */
const maxLength = 65_536;

/** JSON in the canonical text, which is itself a JSON string: each quote and each backslash has a backslash before it. */
const quote = String.raw`\\"`;
const plain = String.raw`[^"\\\x00-\x1f]*`;
const escaped = String.raw`\\\\(?:\\"|\\\\|[bfnrt/]|u[\da-fA-F]{4})`;
const string = `${quote}${plain}(?:${escaped}${plain})*${quote}`;
const number = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?`;
const scalar = `(?:${string}|${number}|true|false|null)`;
const value = String.raw`(?:${scalar}|\[(?:${scalar}(?:,${scalar})*)?\])`;
const metadata = String.raw`\{(?:${string}:${value}(?:,${string}:${value})*)?\}`;
const uuid = String.raw`[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}`;
const name = (field: string) => `${quote}${field}${quote}:`;
const canonical =
  `${name('action')}${string},${name('agentId')}${string},${name('eventId')}${quote}\\3${quote},` +
  `${name('ipAddress')}${string},${name('metadata')}${metadata},${name('organizationId')}${quote}\\1${quote},` +
  `${name('outcome')}${string},${name('timestamp')}${quote}\\5Z${quote},${name('userAgent')}${string}`;
const usualLink = new RegExp(
  String.raw`^\{"kind":"link","organizationId":"([\w-]+)","sequence":([1-9]\d{0,14}),"eventId":"(${uuid})",` +
    String.raw`"time":"(([\w:.-]+)000Z)","eventHash":"([\da-f]{64})","hash":"(\w+)","linkedOn":"([\w-]+)",` +
    String.raw`"event":\{"canonical":("\{${canonical}\}"),"appendedIn":"(\w+)","seal":"(\w*)"\}\}$`,
);

export interface ParsedLink {
  readonly organizationId: string;
  /** Without the identity, which the shape has proven. */
  readonly evidence: LinkEvidence;
}

/** Undefined for a line of another shape. */
export function parseLinkFast(line: string): ParsedLink | undefined {
  const match = line.length <= maxLength ? (usualLink.exec(line) as Groups | null) : null;
  if (!match) return undefined;
  const { 1: organizationId, 2: sequenceText, 3: eventId, 4: time, 6: eventHash } = match;
  const { 7: hash, 8: linkedOn, 9: json, 10: appendedIn, 11: seal } = match;
  const sequence = Number(sequenceText);
  const record = usualLinkRecord(sequence, eventId, time, eventHash);
  const text = eventText({ canonical: JSON.parse(json), appendedIn, seal });
  return { organizationId, evidence: { sequence, record, hash, linkedOn, text } };
}

/** The groups of the expression; all of them have matched. */
type Groups = Readonly<Record<1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11, string>>;
