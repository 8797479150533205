/** The address of the consent page. */

const page = /^\/console\/authorize\/([^/]+)\/?$/;

/** The id of the authorization request whose page this is. */
export const requestIdOf = (pathname: string): string | undefined => {
  const encoded = page.exec(pathname)?.[1];
  try {
    return encoded && decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
};
