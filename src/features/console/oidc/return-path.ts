/** The page of the console to show after the sign-in. Anything else, such as another site, becomes the first page. */
const firstPage = '/console';
const maxLength = 2_000;

export function returnPath(wanted: unknown): string {
  if (typeof wanted !== 'string' || wanted.length > maxLength) return firstPage;
  // Browsers read `//host` and `/\host` as another site, and drop tabs and line breaks.
  if (!/^\/console(?:[/?][!-[\]-~]*)?$/.test(wanted)) return firstPage;
  const base = 'https://page.invalid';
  if (!URL.canParse(wanted, base)) return firstPage;
  const { origin, pathname, search } = new URL(wanted, base);
  const isPage = pathname === firstPage || pathname.startsWith(`${firstPage}/`);
  const isApi = pathname === `${firstPage}/api` || pathname.startsWith(`${firstPage}/api/`);
  return origin === base && isPage && !isApi ? pathname + search : firstPage;
}
