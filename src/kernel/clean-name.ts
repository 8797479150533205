/** Names that another party chose, in an ID token or a client's document, by the rules of our own names. */
import { imitating, nameText } from '../contract/shapes.ts';

const maxLength = 100;
const separators = new RegExp(`[${imitating}\\s]+`, 'gu');
const pattern = new RegExp(nameText(maxLength).pattern, 'u');

/** Without characters that could make the name look like another one; cut. Undefined when nothing visible is left. */
export function cleanName(text: string): string | undefined {
  // Cut first: the text may be long.
  const shown = text.slice(0, 1_000).toWellFormed().replace(separators, ' ').trim();
  const name = [...shown].slice(0, maxLength).join('').trim();
  return pattern.test(name) ? name : undefined;
}
