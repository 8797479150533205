/** What an ID token says of a person: the verified e-mail, and the name, by the rules of our own names. */
import { imitating } from '../../contract/shapes.ts';
import { isShape } from '../../kernel/http/input/validation.ts';
import type { Claims } from '../../kernel/ports/signer.ts';
import { Email, PersonName, Subject } from './schema.ts';

const isEmail = isShape<string>(Email);
const isName = isShape<string>(PersonName);
export const isSubject = isShape<string>(Subject);

/** Null unless the provider has verified it. */
export const verifiedEmail = ({ email, email_verified: verified }: Claims): string | null =>
  verified === true && isEmail(email) ? email : null;

/** Undefined when the claim is missing, or no name is left of it. */
export const claimedName = ({ name }: Claims): string | undefined =>
  typeof name === 'string' ? cleanName(name) : undefined;

export const nameOfNewcomer = (claims: Claims, subject: string): string =>
  claimedName(claims) ?? cleanName(verifiedEmail(claims) ?? subject) ?? 'Unnamed';

const imitatingCharacters = new RegExp(`[${imitating}]+`, 'gu');
const maxLength = 100;

/** An e-mail address is cut before the `@`: the audit log has names, and no e-mails. */
function cleanName(text: string): string | undefined {
  // Cut first: the claim may be long.
  const shown = text
    .slice(0, 1_000)
    .toWellFormed()
    .replace(imitatingCharacters, ' ')
    .replace(/@\S*/gu, ' ')
    .replace(/\s+/gu, ' ')
    .trim();
  const name = [...shown].slice(0, maxLength).join('').trim();
  return isName(name) ? name : undefined;
}
