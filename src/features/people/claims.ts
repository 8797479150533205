/** What an ID token says of a person: the verified e-mail, and the name, by the rules of our own names. */
import { cleanName } from '../../kernel/clean-name.ts';
import { isShape } from '../../kernel/http/input/validation.ts';
import type { Claims } from '../../kernel/ports/signer.ts';
import { Email, Subject } from './schema.ts';

const isEmail = isShape<string>(Email);
export const isSubject = isShape<string>(Subject);

/** Null unless the provider has verified it. */
export const verifiedEmail = ({ email, email_verified: verified }: Claims): string | null =>
  verified === true && isEmail(email) ? email : null;

/** Undefined when the claim is missing, or no name is left of it. */
export const claimedName = ({ name }: Claims): string | undefined =>
  typeof name === 'string' ? personName(name) : undefined;

export const nameOfNewcomer = (claims: Claims, subject: string): string =>
  claimedName(claims) ?? personName(verifiedEmail(claims) ?? subject) ?? 'Unnamed';

/** An e-mail address is cut before the `@`: the audit log has names, and no e-mails. */
const personName = (text: string): string | undefined =>
  cleanName(text.slice(0, 1_000).replace(/@\S*/gu, ' '));
