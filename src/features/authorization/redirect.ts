/** Addresses that the browser goes back to: the client's redirect URI with the answer. */

import type { AuthorizationError } from './authorization-error.ts';

interface Back {
  readonly redirectUri: string;
  readonly state: string | null;
}

/** The redirect URI stays as it is; its own query parameters too (RFC 6749 §3.1.2). RFC 9207: `iss` names us. */
function addressWith({ redirectUri, state }: Back, answer: Record<string, string>, issuer: string): string {
  const parameters = new URLSearchParams({ ...answer, ...(state !== null && { state }), iss: issuer });
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${parameters}`;
}

export const codeAddress = (back: Back, code: string, issuer: string): string =>
  addressWith(back, { code }, issuer);

export const errorAddress = (back: Back, { code, message }: AuthorizationError, issuer: string): string =>
  addressWith(back, { error: code, error_description: message }, issuer);

/** Without the port. */
export const hostOf = (uri: string): string => new URL(uri).hostname;
