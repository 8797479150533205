/**
 * Words about tokens that others have signed: why one is not believed, and what is counted of federation. `reason` in the
 * answer of POST /federation/verify is one of these, and so is the reason in the audit log when an exchange is refused.
 */
export const externalTokenReasons = {
  too_large: 'The token is longer than 16 KiB.',
  malformed:
    'The text is not a signed JWT with an object of claims, or a registered claim is of the wrong type.',
  type_not_allowed: 'The header says that this is another kind of JWT (`typ` is neither JWT nor at+jwt).',
  algorithm_not_allowed:
    'The algorithm is not RS, PS or ES 256 to 512, or EdDSA; never `none` or a symmetric one.',
  critical_header: 'The header demands an extension (`crit`) that is not understood here.',
  own_token: 'This instance issued the token itself.',
  unknown_issuer: 'Nobody trusted here has the issuer that the token names.',
  keys_unavailable: "The issuer's key set could not be read, is too large, or holds no usable key.",
  unknown_key: "None of the issuer's keys is the one that the token names.",
  bad_signature: "The signature is not one by the issuer's key.",
  missing_claim: 'A claim that is needed is not there: `iss` or `exp`.',
  expired: 'The token has expired.',
  not_yet_valid: 'The token is not valid yet (`nbf`).',
  issued_in_future: 'The token says that it was issued more than a minute from now.',
  audience_mismatch: 'The token is meant for somebody else.',
} as const;

export type ExternalTokenReason = keyof typeof externalTokenReasons;

/** Values of `event_type` in `service_federation_events_total`. */
export const federationEvents = [
  'partner_added',
  'partner_changed',
  'partner_removed',
  'token_verified',
  'token_refused',
] as const;

export type FederationEvent = (typeof federationEvents)[number];
