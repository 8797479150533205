/** Addresses of clients: one spelling for each, and how far one client's addresses reach. */
import { isIP, isIPv4 } from 'node:net';

/**
 * Undefined for what is none: proxies write all sorts of things into X-Forwarded-For, and none of it must become a fresh rate window.
 * IPv4 within IPv6 is IPv4; a port or a zone is left out.
 */
export function normalizeAddress(given: string): string | undefined {
  if (isIPv4(given)) return given;
  const bare = given.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1');
  const text = bare.replace(/%.*$/, '');
  if (isIP(text) !== 6) return isIPv4(text) ? text : undefined;
  // A URL has one spelling for each address.
  const plain = new URL(`http://[${text}]/`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(plain) ?? [];
  if (high === undefined || low === undefined) return plain;
  const [first, second] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [first >> 8, first & 255, second >> 8, second & 255].join('.');
}

/** Whoever has an IPv6 address has the 2⁶⁴ of its network: they count as one. The address is a plain one. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::');
  const groups = (part = '') => (part === '' ? [] : part.split(':'));
  const [left, right] = [groups(head), groups(tail)];
  const whole = [...left, ...Array.from({ length: 8 - left.length - right.length }, () => '0'), ...right];
  return `${whole.slice(0, 4).join(':')}::/64`;
}
