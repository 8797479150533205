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
  typeof name === 'string' ? cleanName(name) : undefined;

/** For a person without a name: the part of the e-mail before the `@`, because the audit log has names and no e-mails. */
export const nameOfNewcomer = (claims: Claims, subject: string): string =>
  claimedName(claims) ?? cleanName(verifiedEmail(claims)?.replace(/@[^@]*$/, '') ?? subject) ?? 'Unnamed';
