/**
 * Why a token of another issuer is refused, and the counted events of federation. `reason` in the response of
 * POST /federation/verify is one of these, and so is the reason in the audit log when an exchange is refused.
 */
export const externalTokenReasons = {
  too_large: 'The token is longer than 16 KiB.',
  malformed:
    'The text is not a signed JWT with an object of claims, or a registered claim is of the wrong type.',
  type_not_allowed: 'The token is another kind of JWT (`typ` is neither JWT nor at+jwt).',
  too_many_actors: 'More than ten `act` claims are nested in the token.',
  algorithm_not_allowed:
    'The algorithm is not RS, PS or ES 256 to 512, or EdDSA; never `none` or a symmetric one.',
  critical_header: 'The header requires an extension (`crit`) that is not supported.',
  own_token: 'This instance issued the token itself.',
  unknown_issuer: 'The issuer of the token is not trusted here.',
  keys_unavailable: "The issuer's key set could not be read, is too large, or holds no usable key.",
  unknown_key: "The issuer's key set does not have the key that the token names (`kid`).",
  bad_signature: "The signature does not verify with the issuer's key.",
  missing_claim: 'A required claim is missing: `iss` or `exp`.',
  expired: 'The token has expired.',
  not_yet_valid: 'The token is not valid yet (`nbf`).',
  issued_in_future: 'The token was issued more than a minute in the future (`iat`).',
  audience_mismatch: 'The token is for another audience (`aud`).',
} as const;

export type ExternalTokenReason = keyof typeof externalTokenReasons;

/** Values of `event_type` in `service_federation_events_total`. */
const federationEvents = [
  'partner_added',
  'partner_changed',
  'partner_removed',
  'token_verified',
  'token_refused',
] as const;

export type FederationEvent = (typeof federationEvents)[number];
