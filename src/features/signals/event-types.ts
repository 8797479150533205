/** The event types of CAEP 1.0 and SSF 1.0 that we send. */

const caep = (name: string) => `https://schemas.openid.net/secevent/caep/event-type/${name}`;

export const sessionRevoked = caep('session-revoked');
export const credentialChange = caep('credential-change');
export const tokenClaimsChange = caep('token-claims-change');

export const supportedEvents: readonly string[] = [sessionRevoked, credentialChange, tokenClaimsChange];

/** Sent on request only, to one stream. */
export const verification = 'https://schemas.openid.net/secevent/ssf/event-type/verification';

/** `session-revoked` and so on: the label of a metric. */
export const shortType = (eventType: string): string => eventType.slice(eventType.lastIndexOf('/') + 1);

/** A subject identifier (RFC 9493, and the complex ones of SSF). */
export type SubjectId = { readonly format: string } & Readonly<Record<string, unknown>>;

export const opaque = (id: string): SubjectId => ({ format: 'opaque', id });
export const party = (iss: string, sub: string): SubjectId => ({ format: 'iss_sub', iss, sub });
export const tokenId = (iss: string, jti: string): SubjectId => ({ format: 'jwt_id', iss, jti });
const application = (uri: string): SubjectId => ({ format: 'uri', uri });
export const atResource = (uri: string): SubjectId => ({ format: 'complex', application: application(uri) });
export const partyAtResource = (iss: string, sub: string, uri: string): SubjectId => ({
  format: 'complex',
  user: party(iss, sub),
  application: application(uri),
});
