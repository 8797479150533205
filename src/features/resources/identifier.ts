/** The identifier of a resource: the audience of its tokens (RFC 8707 §2), written in one way only. */
import { isLoopback, mcpAddressOf } from '../../kernel/audience.ts';
import { localName } from './names-store.ts';

/** RFC 3986: a host without percent-encoding, a port, and a path. */
const form = /^https?:\/\/(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d+)?(?:\/[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*)?$/i;

/** The problem with an identifier; undefined for a valid one. */
export function identifierProblem(identifier: string, issuer: string): string | undefined {
  if (!/^https?:\/\//i.test(identifier)) return 'must be an absolute https:// URI';
  if (!/^[!-~]+$/.test(identifier) || identifier.includes('\\'))
    return 'must be printable ASCII, without blanks or backslashes';
  if (identifier.includes('#')) return 'must not have a fragment';
  if (identifier.includes('?')) return 'must not have a query';
  if (/^[^/]*\/\/[^/]*@/.test(identifier)) return 'must not carry credentials';
  if (!form.test(identifier) || !URL.canParse(identifier)) return 'must be an absolute https:// URI';
  const url = new URL(identifier);
  if ([issuer, mcpAddressOf(issuer)].some((own) => isSameAddress(url, new URL(own))))
    return 'must not be the address of this server';
  if (!isCanonical(identifier, url))
    return 'must be in canonical form: scheme and host in lower case, no default port, no . or .. or empty segments, no dot after the host, percent-encoding in upper case and only where needed';
  return url.protocol === 'https:' || isLoopback(identifier)
    ? undefined
    : 'must start with https://; http:// is for localhost and loopback addresses only';
}

/** The two spellings of one API: without a slash at the end, and with it. Only one of them can be registered. */
export function spellingsOf(identifier: string): readonly [string, string] {
  const bare = identifier.replace(/\/$/, '');
  return [bare, `${bare}/`];
}

/** With the port, unless it is the scheme's own. */
export const hostOf = (identifier: string): string => new URL(identifier).host;

export type IdentifierMode = 'open' | 'verified';

/** A loopback identifier has no host that could prove it. */
export const needsProof = (mode: IdentifierMode, identifier: string): boolean =>
  mode === 'verified' && !isLoopback(identifier);

/** The name by which token requests find a verified resource. A loopback identifier needs no proof, so each organization has its own. */
export const audienceName = (mode: IdentifierMode, organizationId: string, identifier: string): string =>
  mode === 'verified' && isLoopback(identifier) ? localName(organizationId, identifier) : identifier;

/** Of a URL: the parser writes every IPv4 address with four decimal numbers. */
export const isAddress = (hostname: string): boolean => /^(?:\[.*\]|\d+(?:\.\d+){3})$/.test(hostname);

/** The URL parser corrects most other spellings; it adds a slash after a bare host. */
const isCanonical = (identifier: string, { href, hostname, port }: URL): boolean =>
  (href === identifier || href === `${identifier}/`) &&
  !/^\.|\.\.|\.$/.test(hostname) &&
  port !== '0' &&
  !identifier.slice('https://'.length).includes('//') &&
  [...identifier.matchAll(/%(.{0,2})/g)].every(
    ([encoded, digits = '']) => /^[0-9A-F]{2}$/.test(digits) && !/[A-Za-z0-9\-._~]/.test(safeDecode(encoded)),
  );

/** A byte of a longer UTF-8 sequence is no character by itself. */
const safeDecode = (encoded: string): string =>
  Number.parseInt(encoded.slice(1), 16) < 0x80 ? decodeURIComponent(encoded) : '';

const isSameAddress = (one: URL, other: URL): boolean => addressOf(one) === addressOf(other);

/** Without the scheme and the slashes at the end. */
const addressOf = ({ hostname, port, pathname }: URL): string =>
  `${hostname.replace(/\.$/, '')}:${port}${pathname.replace(/\/+$/, '')}`;
