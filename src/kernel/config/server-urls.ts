/**
 * The addresses of PostgreSQL, Redis and the mail server. The first two may name several hosts, which `URL` cannot parse. No message repeats a part of the
 * value: it may hold a password.
 */

import { readFileSync } from 'node:fs';

interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

interface Credentials {
  readonly username?: string;
  readonly password?: string;
}

export type RedisAddress =
  | { readonly kind: 'memory' }
  | { readonly kind: 'server'; readonly url: string }
  | (Credentials & {
      readonly kind: 'sentinel';
      readonly tls: boolean;
      readonly sentinels: readonly HostAndPort[];
      readonly sentinelCredentials: Credentials;
      /** The name of the monitored primary in the configuration of the sentinels. */
      readonly name: string;
      readonly db: number;
    })
  | (Credentials & {
      readonly kind: 'cluster';
      readonly tls: boolean;
      readonly nodes: readonly HostAndPort[];
    });

interface UrlParts {
  readonly scheme: string;
  /** Still encoded, with the `@` at its end; empty when there is none. */
  readonly userInfo: string;
  readonly hosts: readonly string[];
  readonly path: string;
  readonly parameters: URLSearchParams;
}

function splitUrl(text: string): UrlParts | undefined {
  const match = /^([a-z][a-z0-9+]*):\/\/((?:[^/?#]*@)?)([^/?#@]*)([^?#]*)(\?[^#]*)?$/i.exec(text);
  if (!match) return undefined;
  const [, scheme = '', userInfo = '', hosts = '', path = '', query = ''] = match;
  return {
    scheme: scheme.toLowerCase(),
    userInfo,
    hosts: hosts.split(','),
    path,
    parameters: new URLSearchParams(query),
  };
}

const encodingHint = 'characters such as @ : / ? # , in a user name or password must be percent-encoded';

export function databaseUrl(value: string): string {
  for (const url of databaseUrlsOf(value)) requireFiles(splitUrl(url)?.parameters);
  return value;
}

/** The driver reads them when it connects, and would not say which variable names them. */
function requireFiles(parameters = new URLSearchParams()): void {
  for (const name of ['sslrootcert', 'sslcert', 'sslkey']) {
    const path = parameters.get(name);
    if (!path) continue;
    try {
      readFileSync(path);
    } catch (error) {
      throw new Error(`has a ${name} that cannot be read (${(error as NodeJS.ErrnoException).code})`);
    }
  }
}

const databaseSchemes = ['postgres', 'postgresql'];
const writableSessionAttrs = ['read-write', 'primary'];

/** One URL per host, in the order of the address. */
export function databaseUrlsOf(value: string): string[] {
  const parts = splitUrl(value);
  const isOne = !parts || parts.hosts.length === 1;
  // A # or an @ there: perhaps of a password that is not encoded, whose beginning would be taken for the host.
  const isMisread = value.includes('#') || parts?.path.includes('@');
  if (isMisread || (isOne && !URL.canParse(value))) throw new Error(malformed(value, databaseSchemes));
  const { protocol } = isOne ? new URL(value) : { protocol: `${parts.scheme}:` };
  if (!databaseSchemes.includes(protocol.slice(0, -1))) throw new Error(schemeProblem(databaseSchemes));
  const parameters = parts?.parameters ?? new URL(value).searchParams;
  const wanted = parameters.get('target_session_attrs');
  if (wanted !== null && !writableSessionAttrs.includes(wanted))
    throw new Error(
      `has a target_session_attrs other than ${writableSessionAttrs.join(' or ')}: the server must accept writes`,
    );
  if (parameters.get('host')?.includes(','))
    throw new Error('lists hosts in its parameter host: list them before the name of the database');
  if (isOne) return [value];
  hostsAndPorts(parts.hosts, 5432);
  if (parameters.has('host') || parameters.has('port'))
    throw new Error('lists several hosts, and a parameter host or port: remove the parameter');
  requireDecodable(parts.userInfo);
  const query = parameters.size > 0 ? `?${parameters}` : '';
  return parts.hosts.map((host) => `${parts.scheme}://${parts.userInfo}${host}${parts.path}${query}`);
}

const redisSchemes = [
  'redis',
  'rediss',
  'redis+sentinel',
  'rediss+sentinel',
  'redis+cluster',
  'rediss+cluster',
  'memory',
];

export function redisUrl(value: string): string {
  redisAddressOf(value);
  return value;
}

export function redisAddressOf(value: string): RedisAddress {
  const parts = splitUrl(value);
  if (!parts || !redisSchemes.includes(parts.scheme)) throw new Error(malformed(value, redisSchemes));
  const [security, topology] = parts.scheme.split('+');
  const tls = security === 'rediss';
  if (topology === 'sentinel') return sentinelAddress(parts, tls);
  if (topology === 'cluster') return clusterAddress(parts, tls);
  if (parts.scheme === 'memory') return { kind: 'memory' };
  if (parts.hosts.length > 1)
    throw new Error(
      'lists several hosts: begin it with redis+sentinel:// or redis+cluster:// (rediss+… with TLS)',
    );
  return serverAddress(parts, value);
}

/** The driver takes every parameter as an option of its own, and tests the scheme in lower case for TLS. */
function serverAddress(parts: UrlParts, value: string): RedisAddress {
  hostsAndPorts(parts.hosts, 6379);
  credentials(parts.userInfo);
  if (!/^(\/\d{0,5})?$/.test(parts.path))
    throw new Error(`may name only a database number after the host: redis://host:6379/0; ${encodingHint}`);
  allowParameters(parts, ['family']);
  if (!parts.parameters.getAll('family').every((family) => ['4', '6'].includes(family)))
    throw new Error('has a parameter family other than 4 or 6');
  return { kind: 'server', url: `${parts.scheme}${value.slice(parts.scheme.length)}` };
}

function sentinelAddress(parts: UrlParts, tls: boolean): RedisAddress {
  const [name = '', db = '0', ...rest] = parts.path.slice(1).split('/');
  if (!/^[\w.-]+$/.test(name) || !/^\d{1,5}$/.test(db) || rest.length > 0)
    throw new Error(
      'must name the primary after the sentinels, and may name a database number: redis+sentinel://host:26379,host:26379/name/0',
    );
  allowParameters(parts, ['sentinelUsername', 'sentinelPassword']);
  const username = parts.parameters.get('sentinelUsername');
  const password = parts.parameters.get('sentinelPassword');
  if (username && !password) throw new Error('has a sentinelUsername without sentinelPassword');
  return {
    kind: 'sentinel',
    tls,
    sentinels: hostsAndPorts(parts.hosts, 26_379),
    sentinelCredentials: { ...(username && { username }), ...(password && { password }) },
    name,
    db: Number(db),
    ...credentials(parts.userInfo),
  };
}

function clusterAddress(parts: UrlParts, tls: boolean): RedisAddress {
  if (!['', '/', '/0'].includes(parts.path))
    throw new Error('names a database, but a Redis Cluster has only one: remove it after the hosts');
  allowParameters(parts, []);
  return {
    kind: 'cluster',
    tls,
    nodes: hostsAndPorts(parts.hosts, 6379),
    ...credentials(parts.userInfo),
  };
}

/** A mail server. */
export interface SmtpAddress extends HostAndPort, Credentials {
  /** TLS from the start. */
  readonly tls: boolean;
}

const smtpSchemes = ['smtp', 'smtps'];

export function smtpUrl(value: string): SmtpAddress {
  const parts = splitUrl(value);
  if (!parts || !smtpSchemes.includes(parts.scheme)) throw new Error(malformed(value, smtpSchemes));
  const tls = parts.scheme === 'smtps';
  const [server, ...others] = hostsAndPorts(parts.hosts, tls ? 465 : 587);
  if (!server || others.length > 0) throw new Error('lists several hosts: name one');
  if (!['', '/'].includes(parts.path)) throw new Error(`has a path after the host; ${encodingHint}`);
  allowParameters(parts, []);
  const { username, password } = credentials(parts.userInfo);
  if ((username === undefined) !== (password === undefined))
    throw new Error(`has a user name without a password, or the other way round; ${encodingHint}`);
  return { ...server, tls, ...(username && { username }), ...(password && { password }) };
}

function allowParameters({ parameters }: UrlParts, allowed: readonly string[]): void {
  if ([...parameters.keys()].every((name) => allowed.includes(name))) return;
  throw new Error(
    allowed.length === 0
      ? `has a parameter after ?: none is allowed; ${encodingHint}`
      : `has an unknown parameter after ?: allowed are ${allowed.join(' and ')}; ${encodingHint}`,
  );
}

function hostsAndPorts(hosts: readonly string[], defaultPort: number): HostAndPort[] {
  const seen = new Set<string>();
  return hosts.map((text, index) => {
    const [, bracketed, name, digits] = /^(?:\[([\da-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
    const host = bracketed ?? name;
    const port = digits === undefined ? defaultPort : Number(digits);
    const which = hosts.length === 1 ? 'its host' : `host ${index + 1} of ${hosts.length}`;
    if (!host || port < 1 || port > 65_535)
      throw new Error(`is malformed: ${which} is not host or host:port; ${encodingHint}`);
    const key = `${host.toLowerCase()}:${port}`;
    if (seen.has(key)) throw new Error(`is malformed: ${which} is there twice`);
    seen.add(key);
    return { host, port };
  });
}

function credentials(userInfo: string): Credentials {
  if (userInfo === '') return {};
  const [username = '', ...rest] = userInfo.slice(0, -1).split(':');
  const password = rest.join(':');
  return {
    ...(username && { username: decoded(username) }),
    ...(password && { password: decoded(password) }),
  };
}

function requireDecodable(text: string): void {
  decoded(text);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error(`is malformed: ${encodingHint}`);
  }
}

const schemeProblem = (schemes: readonly string[]) =>
  `must be a URL that starts with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`;

const malformed = (value: string, schemes: readonly string[]) =>
  schemes.some((scheme) => value.toLowerCase().startsWith(`${scheme}://`))
    ? `is malformed: check its host and port; ${encodingHint}`
    : schemeProblem(schemes);

/** Without user, password and parameters; undefined for a text that is no such address. */
export function publicAddressOf(text: string): string | undefined {
  const parts = splitUrl(text);
  if (!parts) return undefined;
  // An @ in the path: perhaps the end of a password that holds a slash.
  const path = parts.path === '/' || parts.path.includes('@') ? '' : parts.path;
  return `${parts.scheme}://${parts.hosts.join(',')}${path}`;
}

export const shownAddress = (text: string): string => publicAddressOf(text) ?? 'an address';

/** Some drivers take a password as a parameter, and repeat it in messages. */
export const hidePasswordParameters = (text: string): string =>
  text.replace(/([?&]\w*password=)[^&\s]+/gi, '$1***');
