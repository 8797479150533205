/** What a subscription may point at. Whether the address is a public one shows when it is connected to, and only then. */
import { validationError } from '../../kernel/validation.ts';

export function refuseBadTarget(url: string): void {
  const problem = problemOf(url);
  if (problem !== undefined) throw validationError('body', [{ in: 'body', field: 'url', message: problem }]);
}

function problemOf(text: string): string | undefined {
  // Spelt out, because the URL parser mends what others would read differently.
  if (!/^https:\/\//i.test(text) || !URL.canParse(text)) return 'must be an absolute https:// URL';
  if (/[\s\\]/.test(text)) return 'must not contain blanks or backslashes';
  const { username, password } = new URL(text);
  if (username || password || /^https:\/\/[^/?#]*@/i.test(text)) return 'must not carry credentials';
  if (text.includes('#')) return 'must not have a fragment';
  return undefined;
}
