/** The candidate that a mistyped or shortened word most likely means; undefined when none is close. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const known = [...candidates];
  return closest(word, known) ?? containing(word, known);
}

/** `type` means `agentType` when no other candidate has the word in it. */
function containing(word: string, candidates: readonly string[]): string | undefined {
  const part = word.toLowerCase();
  const found = candidates.filter((one) => {
    const other = one.toLowerCase();
    return part.length >= 4 && (other.includes(part) || (other.length >= 4 && part.includes(other)));
  });
  return found.length === 1 ? found[0] : undefined;
}

function closest(word: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.min(3, Math.ceil(word.length / 2)) + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase(), bestDistance);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Insertions, deletions and replacements of one character (Levenshtein); right below the limit, which bounds the cells it looks at. */
function editDistance(from: string, to: string, limit: number): number {
  let row = Array.from({ length: limit + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next: number[] = [];
    if (i <= limit) next[0] = i;
    for (let j = Math.max(1, i - limit); j <= Math.min(to.length, i + limit); j += 1) {
      const replaced = (row[j - 1] ?? limit) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next[j] = Math.min(replaced, (row[j] ?? limit) + 1, (next[j - 1] ?? limit) + 1);
    }
    row = next;
  }
  return row[to.length] ?? limit;
}

export const suggestion = (word: string, candidates: Iterable<string>): string => {
  const found = nearest(word, candidates);
  return found === undefined ? '' : `; did you mean ${found}?`;
};
