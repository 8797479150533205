/** The address of a witness. Which addresses are allowed is a rule of the outbound client. */

/** Throws an Error with the problem. */
export function parseWitnessUrl(text: string): string {
  if (!URL.canParse(text)) throw new Error('the URL is not one');
  const { protocol, username, password, search, hash, href } = new URL(text);
  if (protocol !== 'https:' && protocol !== 'http:') throw new Error('the URL is not one of https or http');
  if (username !== '' || password !== '') throw new Error('the URL has a user name or password');
  if (search !== '' || hash !== '' || /[?#]/.test(text)) throw new Error('the URL has a query or fragment');
  return href.replace(/\/+$/, '');
}
