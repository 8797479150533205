/**
 * The client's request, as the proxy that asks for its authentication describes it: by `X-Forwarded-Method`, `-Proto`, `-Host` and `-Uri`
 * (Caddy, Traefik), or by `X-Original-Method` and `X-Original-URL` (nginx). A proxy may pass headers of the client as they came, so
 * all that are there must say the same.
 */

type Headers = Readonly<Record<string, string | string[] | undefined>>;

export interface OriginalRequest {
  readonly method: string;
  /** Without query and fragment. */
  readonly url: string;
}

const maxUrlLength = 4_096;

/** A text says why the request is not known. */
export function originalRequest(headers: Headers): OriginalRequest | string {
  const method = agreed([headers['x-forwarded-method'], headers['x-original-method']]);
  const url = agreed([forwardedUrl(headers), headers['x-original-url']].map(withoutQuery));
  if (method === undefined || url === undefined)
    return 'the proxy does not say, or says in two ways, which method and address the request has';
  const isUsable = /^[A-Za-z-]{1,32}$/.test(method) && /^https?:\/\/[!-~]+$/i.test(url);
  return isUsable && url.length <= maxUrlLength && URL.canParse(url)
    ? { method, url }
    : 'the proxy gives a method or an address of the request that is not usable';
}

/** Whether the address is that of the resource, or below it. The URL parser resolves `..` in all spellings. */
export function isWithin(url: string, resource: string): boolean {
  if (!URL.canParse(resource)) return false;
  const [asked, base] = [new URL(url), new URL(resource)];
  const folder = base.pathname.endsWith('/') ? base.pathname : `${base.pathname}/`;
  return asked.origin === base.origin && `${asked.pathname}/`.startsWith(folder);
}

function forwardedUrl(headers: Headers): string | undefined {
  const [proto, host, uri] = ['x-forwarded-proto', 'x-forwarded-host', 'x-forwarded-uri'].map(
    (name) => headers[name],
  );
  if (uri === undefined) return undefined;
  return proto === undefined || host === undefined ? '' : `${proto}://${host}${uri}`;
}

const withoutQuery = (url: string | string[] | undefined): string | undefined =>
  url === undefined ? undefined : String(url).split(/[?#]/, 1)[0];

/** Undefined when there is none, or several differ. */
function agreed(given: readonly (string | string[] | undefined)[]): string | undefined {
  const [value, ...others] = new Set(given.filter((one) => one !== undefined).map(String));
  return others.length > 0 ? undefined : value;
}
