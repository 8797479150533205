/**
 * The SSRF filter: only addresses of the public internet may be connected to. An address that cannot be parsed is not public.
 * Names that are local to a network or a cloud are refused without a DNS query.
 */
import ipaddr from 'ipaddr.js';

/** Azure's host endpoint: an address of a public range that reaches the host of a virtual machine. */
const privateExceptions = [ipaddr.parseCIDR('168.63.129.16/32')] as const;

/** The only block that IANA assigns as global unicast. */
const globalUnicast = ipaddr.parseCIDR('2000::/3');

/** Interface identifiers that embed an IPv4 address (ISATAP, RFC 5214). */
const isatap = new Set(['0:5efe', '200:5efe']);

/** Expects the canonical spelling of a resolver or the URL parser; any other spelling is refused. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.IPv4.isValidFourPartDecimal(address) && !ipaddr.IPv6.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  if (parsed instanceof ipaddr.IPv4) {
    return !privateExceptions.some(([network, bits]) => parsed.match(network as ipaddr.IPv4, bits));
  }
  if (!parsed.match(globalUnicast as [ipaddr.IPv6, number])) return false;
  return !isatap.has(
    parsed.parts
      .slice(4, 6)
      .map((part) => part.toString(16))
      .join(':'),
  );
}

export const isAddress = (host: string): boolean => ipaddr.isValid(host);

/** Loopback by convention (RFC 6761), link and site (RFC 6762, RFC 8375), and the metadata services of clouds. */
const localNames = /(^|\.)(localhost|localdomain|local|internal|intranet|lan|home\.arpa)$/;
const metadataNames = new Set(['metadata', 'instance-data', 'metadata.tencentyun.com']);

export function isLocalName(host: string): boolean {
  const name = host.toLowerCase().replace(/\.+$/, '');
  return name === '' || localNames.test(name) || metadataNames.has(name);
}
