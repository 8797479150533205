/**
 * Which addresses may be connected to: those of the public internet, and no others. An address that is not understood is
 * not public. Names that only mean something inside a network or a cloud are refused before anybody is asked about them.
 */
import ipaddr from 'ipaddr.js';

/** Looks like a public address and is the host beneath a virtual machine. */
const notPublicAfterAll = [ipaddr.parseCIDR('168.63.129.16/32')] as const;

/** What is given out to the public so far; the rest of IPv6 is nobody's, or somebody's own. */
const global = ipaddr.parseCIDR('2000::/3');

/** An IPv4 address inside an IPv6 one, whatever network it is in (ISATAP, RFC 5214). */
const isatap = new Set(['0:5efe', '200:5efe']);

/** For addresses in their usual spelling, as a resolver or the URL parser gives them; any other is refused. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !ipaddr.IPv6.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  if (parsed instanceof ipaddr.IPv4) {
    return !notPublicAfterAll.some(([network, bits]) => parsed.match(network as ipaddr.IPv4, bits));
  }
  if (!parsed.match(global as [ipaddr.IPv6, number])) return false;
  return !isatap.has(
    parsed.parts
      .slice(4, 6)
      .map((part) => part.toString(16))
      .join(':'),
  );
}

export const isAddress = (host: string): boolean => ipaddr.isValid(host);

/** Loopback by convention (RFC 6761), link and site (RFC 6762, RFC 8375), and where clouds keep their metadata. */
const localNames = /(^|\.)(localhost|localdomain|local|internal|intranet|lan|home\.arpa)$/;
const metadataNames = new Set(['metadata', 'instance-data', 'metadata.tencentyun.com']);

export function isLocalName(host: string): boolean {
  const name = host.toLowerCase().replace(/\.+$/, '');
  return name === '' || localNames.test(name) || metadataNames.has(name);
}
