/**
 * What somebody typed, as PostgreSQL's websearch_to_tsquery reads it: words, "phrases", -exclusions, or. Rebuilt from its parts,
 * since that function gives up on operators that are piled up.
 */
const term = /(-?)-*(?:"([^"]*)"|([^\s"]+))/g;
const maxTerms = 30;

interface Term {
  readonly text: string;
  readonly excluded: boolean;
  readonly phrase: boolean;
}

function parseTerms(typed: string): Term[] {
  const terms: Term[] = [];
  const plain = typed.normalize('NFKC').replace(/[“”„‟«»]/g, '"');
  for (const [, not = '', phrase, word] of plain.matchAll(term)) {
    const text = wordsIn(phrase ?? word ?? '');
    // What is written as one, such as ci/cd, is looked for as one.
    const together = phrase !== undefined || text.includes(' ');
    if (text !== '') terms.push({ text, excluded: not === '-', phrase: together });
  }
  return terms.slice(0, maxTerms);
}

/** Without all that is no part of a word, as the migration has it for what is searched. */
const wordsIn = (text: string): string =>
  text
    .replace(/[\uFE00-\uFE0F]/g, '')
    .replace(/[^\p{L}\p{N}\p{M}]+/gu, ' ')
    .trim();

export const toWebsearchQuery = (typed: string): string =>
  parseTerms(typed)
    .map(({ text, excluded, phrase }) => `${excluded ? '-' : ''}${phrase ? `"${text}"` : text}`)
    .join(' ');

/** One side of an `or`: the words that a text must have. `exact`: a text that has them fits, and need not be read. */
export interface Alternative {
  readonly words: readonly string[];
  readonly exact: boolean;
  readonly excludes: boolean;
}

export function parseAlternatives(typed: string): Alternative[] {
  const choices: Term[][] = [[]];
  for (const one of parseTerms(typed)) {
    if (one.text.toLowerCase() === 'or' && !one.phrase && !one.excluded) choices.push([]);
    else choices.at(-1)?.push(one);
  }
  const plain = /^[\p{L}\p{N}]+$/u;
  return choices.map((terms) => ({
    words: terms.filter(({ excluded }) => !excluded).map(({ text }) => text),
    excludes: terms.some(({ excluded }) => excluded),
    exact:
      choices.length === 1 &&
      terms.every(({ text, excluded, phrase }) => !excluded && !phrase && plain.test(text)),
  }));
}
