/** What a security event token (RFC 8417) says about access tokens: CAEP 1.0 events with the subjects that Countersign uses. */
import type { JWTPayload } from 'jose';
import { splitScopes } from '../verify/access-token.ts';

const caep = (name: string) => `https://schemas.openid.net/secevent/caep/event-type/${name}`;
const sessionRevoked = caep('session-revoked');
const credentialChange = caep('credential-change');
const tokenClaimsChange = caep('token-claims-change');

export const eventTypes = [sessionRevoked, credentialChange, tokenClaimsChange];

/** Times are milliseconds since 1970, by the clock of the server. Tokens that were issued until then are concerned. */
export type Signal =
  /**
   * `id` of an agent, a person, a credential, a delegation, a token or an organization. `isPermanent`: an agent, a person or an organization
   * that never comes back, so all its tokens have ended, whatever the clock of the node said that issued them.
   */
  | { readonly type: 'ended'; readonly id: string; readonly at: number; readonly isPermanent: boolean }
  /** Only these scopes remain at the API: for one agent or person, or for all. */
  | {
      readonly type: 'narrowed';
      readonly party: string | undefined;
      readonly resource: string;
      readonly scopes: readonly string[];
      readonly at: number;
    };

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};

/** Events that end no token have no signal. Throws for one that cannot be understood: it might end one. */
export function readSignals({ events, sub_id, iat }: JWTPayload, issuer: string): Signal[] {
  return Object.entries(fieldsOf(events)).flatMap(([type, value]): Signal[] => {
    if (!eventTypes.includes(type)) return [];
    const event = fieldsOf(value);
    const at = timeOf(event, iat);
    const subject = fieldsOf(sub_id);
    if (type === tokenClaimsChange) return [readNarrowed(subject, event, at, issuer)];
    // Tokens that were issued with the earlier secret stay valid.
    if (type === credentialChange && ['create', 'update'].includes(String(event.change_type))) return [];
    return [{ type: 'ended', id: readId(subject, issuer), at, isPermanent: event.permanent === true }];
  });
}

/** `event_timestamp` has a fraction. `iat` has none, so all of its second counts. */
function timeOf({ event_timestamp: time }: Fields, iat: unknown): number {
  if (typeof time === 'number' && Number.isFinite(time)) return Math.round(time * 1000);
  if (typeof iat === 'number' && Number.isFinite(iat)) return iat * 1000 + 999;
  throw new Error('a signal has no time');
}

function readId({ format, iss, sub, id, jti }: Fields, issuer: string): string {
  const found =
    format === 'opaque'
      ? id
      : iss !== issuer
        ? undefined
        : { iss_sub: sub, jwt_id: jti }[format as 'iss_sub' | 'jwt_id'];
  if (typeof found === 'string' && found !== '') return found;
  throw new Error('a signal has a subject that is not known');
}

function readNarrowed(subject: Fields, event: Fields, at: number, issuer: string): Signal {
  const { format, user, application } = subject;
  const { uri } = fieldsOf(application);
  const { scope } = fieldsOf(event.claims);
  if (format !== 'complex' || typeof uri !== 'string' || typeof scope !== 'string')
    throw new Error('a signal has claims or a subject that are not known');
  const party = user === undefined ? undefined : readId(fieldsOf(user), issuer);
  return { type: 'narrowed', party, resource: uri, scopes: splitScopes(scope), at };
}
