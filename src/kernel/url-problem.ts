import { isLoopback } from './audience.ts';

/** The problem with a URL of an issuer, a key set or a webhook receiver; undefined for a valid one. It makes no connection. */
export function urlProblem(
  address: string,
  { allowHttp, allowQuery }: { allowHttp: boolean; allowQuery: boolean },
): string | undefined {
  const schemes = allowHttp ? 'an absolute https:// (or http://) URL' : 'an absolute https:// URL';
  if (!(allowHttp ? /^https?:\/\//i : /^https:\/\//i).test(address)) return `must be ${schemes}`;
  // The URL parser would correct these silently; `iss` is compared with the text as given.
  if (!/^[!-~]+$/.test(address) || address.includes('\\'))
    return 'must be printable ASCII, without blanks or backslashes';
  if (!URL.canParse(address)) return `must be ${schemes}`;
  const url = new URL(address);
  const hasHost = /^[^/]*\/\/[^/?#]/.test(address) && !/^\.|\.\./.test(url.hostname) && url.port !== '0';
  if (!hasHost) return 'must name a host, and a port that can be connected to if any';
  if (url.username || url.password || /^[^/]*\/\/[^/?#]*@/.test(address)) return 'must not carry credentials';
  if (address.includes('#')) return 'must not have a fragment';
  return address.includes('?') && !allowQuery ? 'must not have a query' : undefined;
}

/** The problem with the issuer of an OpenID provider. Without TLS only a provider on this machine is acceptable. */
export function providerAddressProblem(address: string): string | undefined {
  const problem = urlProblem(address, { allowHttp: true, allowQuery: false });
  if (problem !== undefined) return problem;
  return new URL(address).protocol === 'https:' || isLoopback(address)
    ? undefined
    : 'must be an absolute https:// URL (http:// only for localhost)';
}
