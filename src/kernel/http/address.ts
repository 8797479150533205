/** Client addresses: normalization, and the network that counts as one client. */
import { isIP, isIPv4 } from 'node:net';

/**
 * Undefined for text that is no IP address: proxies forward arbitrary X-Forwarded-For values, and none may open a new rate window.
 * IPv4 within IPv6 becomes IPv4; a port or zone is removed.
 */
export function normalizeAddress(address: string): string | undefined {
  if (isIPv4(address)) return address;
  const bare = address.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1');
  const text = bare.replace(/%.*$/, '');
  if (isIP(text) !== 6) return isIPv4(text) ? text : undefined;
  // The URL parser normalizes IPv6.
  const plain = new URL(`http://[${text}]/`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(plain) ?? [];
  if (high === undefined || low === undefined) return plain;
  const [first, second] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [first >> 8, first & 255, second >> 8, second & 255].join('.');
}

/** A client with one IPv6 address usually has its whole /64 network: the network counts as one client. Takes a normalized address. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::');
  const groups = (part = '') => (part === '' ? [] : part.split(':'));
  const [left, right] = [groups(head), groups(tail)];
  const whole = [...left, ...Array.from({ length: 8 - left.length - right.length }, () => '0'), ...right];
  return `${whole.slice(0, 4).join(':')}::/64`;
}
