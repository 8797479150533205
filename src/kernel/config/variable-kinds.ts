/** Parsers for the text of environment variables. Their error messages are printed after the variable's name. */

import { X509Certificate } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { isIP } from 'node:net';
import { delegableScopes, isScope, operatorScope, type Scope, scopes } from '../../contract/scopes.ts';
import { providerAddressProblem } from '../url-problem.ts';

/** Of a value with several mistakes. */
export class SeveralProblems extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('; '));
    this.name = 'SeveralProblems';
    this.problems = problems;
  }
}

export const text = (value: string) => value;

/** A key or an id. The value may be secret, so the message does not repeat it. */
export function asciiWord(value: string): string {
  const trimmed = value.trim();
  if (!/^[\x21-\x7e]+$/.test(trimmed)) throw new Error('must be one word of printable ASCII');
  return trimmed;
}

export function flag(value: string): boolean {
  const lower = value.toLowerCase();
  if (['true', '1', 'yes', 'on'].includes(lower)) return true;
  if (['false', '0', 'no', 'off'].includes(lower)) return false;
  throw new Error(`must be true or false, not "${value}"`);
}

export const integer =
  (min: number, max: number) =>
  (value: string): number => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < min || number > max) {
      throw new Error(`must be a whole number from ${min} to ${max}, not "${value}"`);
    }
    return number;
  };

export function share(value: string): number {
  const number = Number(value);
  if (!/^\d(\.\d+)?$/.test(value) || number > 1)
    throw new Error(`must be a number from 0 to 1, not "${value}"`);
  return number;
}

const urlWith =
  (...protocols: string[]) =>
  (value: string): string => {
    // The value may hold a password, so the message does not repeat it.
    if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol)) {
      throw new Error(`must be a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}`);
    }
    return value;
  };

export function origin(value: string): string {
  const url = urlWith('http:', 'https:')(value);
  const { username, password, pathname, search, hash, origin } = new URL(url);
  // Not repeated: it may hold a password.
  if (username || password) throw new Error('must be scheme, host and port only, without credentials');
  if (pathname !== '/' || search || hash)
    throw new Error(`must be scheme, host and port only, not "${value}"`);
  return origin;
}

const list = (value: string) =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean);

/** Files usually end with a newline that is not part of the value. */
export const trimmed = (value: string) => value.trim();

/** The value may hold a password, which belongs into another variable, so the message does not repeat it. */
export function addresses(value: string): { host: string; port: number }[] {
  const items = list(value);
  if (items.length === 0) throw new Error('must list brokers as host:port');
  return items.map((item, index) => {
    const [, bracketed, name, digits] = /^(?:\[([\da-f:.]+)\]|([\w.-]+)):(\d{1,5})$/i.exec(item) ?? [];
    const host = bracketed ?? name;
    const port = Number(digits);
    if (!host || !(port >= 1 && port <= 65_535))
      throw new Error(
        `must list brokers as host:port, with commas between; broker ${index + 1} of ${items.length} is none`,
      );
    return { host, port };
  });
}

/** Valid for both Kafka and NATS, with room for the longest event type. */
export function topicPrefix(value: string): string {
  if (!/^[\w-]+(\.[\w-]+)*$/.test(value) || value.length > 200)
    throw new Error(
      `must be at most 200 letters, digits, _ and -, with single dots between them, not "${value}"`,
    );
  return value;
}

export function saslMechanism(value: string): 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512' {
  return oneOf('PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512')(value.toUpperCase());
}

/** The value may hold a password, so the message does not repeat it. */
export function natsUrls(value: string): string[] {
  const items = list(value);
  const isServer = (item: string) => {
    if (!URL.canParse(item)) return false;
    const { protocol, hostname, pathname, search, hash } = new URL(item);
    const bare = ['', '/'].includes(pathname) && search === '' && hash === '';
    return ['nats:', 'tls:'].includes(protocol) && hostname !== '' && bare;
  };
  if (items.length === 0 || !items.every(isServer))
    throw new Error('must be nats://host:port or tls://host:port, several with commas between');
  return items;
}

export function certificates(value: string): string {
  try {
    new X509Certificate(value);
  } catch {
    throw new Error('must be a certificate as PEM text');
  }
  return value;
}

export function networks(value: string): string[] {
  return list(value).map((item) => {
    const [address = '', bits, ...rest] = item.split('/');
    const family = isIP(address);
    const fits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
    if (family === 0 || !fits || rest.length > 0)
      throw new Error(`must list addresses or CIDR ranges; "${item}" is neither`);
    if (Number(bits) === 0)
      throw new Error(`must list addresses or CIDR ranges; "${item}" would trust every address`);
    return item;
  });
}

export function origins(value: string): '*' | string[] {
  return value === '*' ? '*' : list(value).map(origin);
}

export function oneOf<const W extends readonly string[]>(...words: W) {
  return (value: string): W[number] => {
    if (!words.includes(value)) throw new Error(`must be one of ${words.join(', ')}, not "${value}"`);
    return value;
  };
}

/** Encoded again it must be equal: the decoder ignores invalid characters, which would give another key. */
export function encryptionKey(value: string): Buffer {
  const bytes = Buffer.from(value, 'base64');
  if (bytes.toString('base64') !== value) throw new Error('must be 32 bytes in base64, padding included');
  if (bytes.length !== 32) throw new Error(`must be 32 bytes in base64, not ${bytes.length}`);
  return bytes;
}

/** The message names the position, because a key must not appear in it. */
export function encryptionKeys(value: string): Buffer[] {
  const items = value.split(/[\s,]+/).filter(Boolean);
  if (items.length === 0) throw new Error('must list keys of 32 bytes in base64');
  if (new Set(items).size < items.length) throw new Error('lists the same key twice');
  return items.map((item, index) => {
    try {
      return encryptionKey(item);
    } catch (error) {
      throw new Error(`${(error as Error).message} (key ${index + 1} of ${items.length})`);
    }
  });
}

/** The operator's scope is never given by default: it needs an operator that names it. */
export function defaultScopes(value: string): Scope[] {
  const names = value.split(/[\s,]+/).filter(Boolean);
  if (names.length === 1 && names[0] === 'none') return [];
  const unknown = names.find((name) => !isScope(name) || name === operatorScope);
  if (unknown !== undefined || names.length === 0)
    throw new Error(
      `must list scopes out of ${delegableScopes.join(', ')}, or be none; ${unknown === undefined ? 'it is empty' : `"${unknown}" is not possible`}`,
    );
  return scopes.filter((scope) => names.includes(scope));
}

/** The value is compared with the `iss` of ID tokens, so it stays as it is. */
export function providerAddress(value: string): string {
  const problem = providerAddressProblem(value);
  if (problem !== undefined) throw new Error(problem);
  return value;
}

export function providerName(value: string): string {
  if (value.length > 60) throw new Error('must have at most 60 characters');
  return value;
}

/** `address` or `Name <address>`. Without line breaks and quotes, so that it stays one header with one address. */
export function mailSender(value: string): string {
  if (
    !/^(?:[^<>"\\,;:@\p{C}]{1,100}<[^\s<>@",;:]{1,64}@[\w.-]{1,189}>|[^\s<>@",;:]{1,64}@[\w.-]{1,189})$/u.test(
      value,
    )
  )
    throw new Error('must be one e-mail address, as name@example.com or Name <name@example.com>');
  return value;
}

/** Checks that there are policies; the engine validates them later. */
export function policyFolder(value: string): string {
  let files: string[];
  try {
    files = readdirSync(value);
  } catch (error) {
    throw new Error(
      `must be a folder that can be read, not "${value}" (${(error as NodeJS.ErrnoException).code})`,
    );
  }
  if (!files.some((file) => file.endsWith('.cedar'))) throw new Error(`has no .cedar file in "${value}"`);
  return value;
}
