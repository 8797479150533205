/**
 * Glob patterns in trust policies: `*` matches any text without `/` and `:`; every other character matches itself. A pattern
 * therefore never reaches into the next segment of a subject, and matching takes linear time for every pattern.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  const patternSegments = pattern.split(/([/:])/);
  const textSegments = text.split(/([/:])/);
  return (
    patternSegments.length === textSegments.length &&
    patternSegments.every((segment, index) => matchesSegment(segment, textSegments[index] ?? ''))
  );
}

function matchesSegment(pattern: string, text: string): boolean {
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

/** Whether the first segment, up to the first `/` or `:`, is present and has no `*`. */
export const hasFixedFirstSegment = (pattern: string): boolean => /^[^/:*]+(?:[/:]|$)/.test(pattern);

/** Whether the pattern is an exact text, or at least its first three characters are fixed. */
export const hasFixedPrefix = (pattern: string): boolean => !isGlob(pattern) || /^[^/:*]{3}/.test(pattern);
