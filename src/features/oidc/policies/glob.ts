/**
 * Patterns in trust policies: everything stands for itself but `*`, which stands for any text without `/` and `:`. So a
 * pattern never reaches into the next part of a subject, and matching takes time in proportion to the text, whatever the
 * pattern.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  const wanted = pattern.split(/([/:])/);
  const given = text.split(/([/:])/);
  return (
    wanted.length === given.length && wanted.every((part, index) => matchesPart(part, given[index] ?? ''))
  );
}

function matchesPart(pattern: string, text: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
  const tail = rest.pop();
  if (tail === undefined) return pattern === text;
  if (text.length < head.length + tail.length || !text.startsWith(head) || !text.endsWith(tail)) return false;
  let from = head.length;
  for (const piece of rest) {
    const at = text.indexOf(piece, from);
    if (at < 0) return false;
    from = at + piece.length;
  }
  return from <= text.length - tail.length;
}

export const isGlob = (pattern: string): boolean => pattern.includes('*');

/** Whether the first part, up to the first `/` or `:`, is there and fixed. */
export const startsFixed = (pattern: string): boolean => /^[^/:*]+(?:[/:]|$)/.test(pattern);
