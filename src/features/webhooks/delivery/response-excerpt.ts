/** The beginning of a receiver's response, as text that JSON in the database can hold and a person may read. */
import { limits } from '../../../contract/limits.ts';

const maxCharacters = limits.webhookResponseExcerpt;
/** A character of UTF-8 has at most four bytes. Twice that many are read, so that a secret at the end is seen as a whole. */
const maxBytes = maxCharacters * 8;

/** Signing secrets and client secrets, should a receiver name them. */
const secrets = /(?<![A-Za-z0-9])(whsec_|cs_)[\w+/=-]{20,}/g;
/** Control characters but line feed and tab: PostgreSQL refuses NUL, terminals act on others. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are replaced
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Null for an empty body. */
export function responseExcerpt(body: Buffer): string | null {
  if (body.length === 0) return null;
  const text = new TextDecoder().decode(body.subarray(0, maxBytes));
  const shown = text.replaceAll('\r\n', '\n').replace(secrets, '$1[removed]').replace(controls, '\ufffd');
  return Array.from(shown).slice(0, maxCharacters).join('');
}
