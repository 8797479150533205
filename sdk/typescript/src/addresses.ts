/** Which addresses a token may be sent to. */

const loopback = /^(localhost|[\w-]+(\.[\w-]+)*\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** An address of this machine. */
export const isLocal = ({ hostname }: URL): boolean => loopback.test(hostname);

/** An https address, or plain http on this machine. TypeError for any other one, named after the option. */
export function readSecureUrl(text: string | URL, name: string): URL {
  const url = URL.canParse(String(text)) ? new URL(text) : undefined;
  if (!url) throw new TypeError(`${name} must be an absolute URL, not ${JSON.stringify(String(text))}`);
  if (url.username || url.password) throw new TypeError(`${name} must not contain a user name or a password`);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLocal(url)))
    throw new TypeError(
      `${name} must start with https://, because tokens are secrets; plain http is for this machine only (${url.origin})`,
    );
  return url;
}

/** The issuer's address, without a slash at the end. */
export function readIssuer(issuer: string): string {
  const url = readSecureUrl(issuer, 'issuer');
  if (url.search || url.hash) throw new TypeError('issuer must have no query and no fragment');
  return issuer.replace(/\/+$/, '');
}

/** Whether an API's identifier is the address itself or a folder above it. */
export function covers(identifier: string, url: URL): boolean {
  if (!URL.canParse(identifier)) return false;
  const resource = new URL(identifier);
  if (resource.origin !== url.origin || hasEncodedDots(url)) return false;
  const folder = resource.pathname.replace(/\/+$/, '');
  return url.pathname === folder || url.pathname.startsWith(`${folder}/`);
}

/** At some servers, `..%2f` leads out of the folder. URL itself resolves the other spellings. */
const hasEncodedDots = ({ pathname }: URL): boolean =>
  pathname
    .replace(/%2[ef]|%5c/gi, decodeURIComponent)
    .split(/[/\\]/)
    .some((part) => part === '.' || part === '..');

/** The longest identifier that covers the address. */
function findResource(identifiers: readonly string[], url: URL): string {
  const [found] = identifiers
    .filter((identifier) => covers(identifier, url))
    .sort((a, b) => b.length - a.length);
  if (found !== undefined) return found;
  throw new TypeError(
    `no API covers ${url.origin}${url.pathname}: add its identifier to \`resources\` of createClient, or name it as \`resource\` here`,
  );
}

export interface Destination {
  readonly resource: string;
  mayGetToken(url: URL): boolean;
}

/** The API of a request, and where its token may go. TypeError if the token may not go to this address. */
export function destinationOf(
  url: URL,
  named: { readonly resource: string | undefined; readonly origin: string | undefined },
  identifiers: readonly string[],
): Destination {
  if (named.origin !== undefined && named.resource === undefined)
    throw new TypeError('origin needs the `resource` whose server is there');
  const resource = named.resource ?? findResource(identifiers, url);
  const address = named.origin === undefined ? resource : readSecureUrl(named.origin, 'origin').href;
  if (covers(address, url)) return { resource, mayGetToken: (to) => covers(address, to) };
  throw new TypeError(
    `${address} does not cover ${url.origin}${url.pathname}: if the server of the API is there, name it as \`origin\``,
  );
}
