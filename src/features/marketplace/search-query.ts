/**
 * Parses a search query in the syntax of PostgreSQL's websearch_to_tsquery: words, "phrases", -exclusions, or. The query is
 * rebuilt from its terms, because that function fails on repeated operators.
 */
const termPattern = /(-?)-*(?:"([^"]*)"|([^\s"]+))/g;
const maxTerms = 30;

interface Term {
  readonly text: string;
  readonly excluded: boolean;
  readonly phrase: boolean;
}

function parseTerms(query: string): Term[] {
  const terms: Term[] = [];
  const normalized = query.normalize('NFKC').replace(/[“”„‟«»]/g, '"');
  for (const [, not = '', phrase, word] of normalized.matchAll(termPattern)) {
    const text = normalizeText(phrase ?? word ?? '');
    // A word with punctuation inside, such as ci/cd, is searched as a phrase.
    const isPhrase = phrase !== undefined || text.includes(' ');
    if (text !== '') terms.push({ text, excluded: not === '-', phrase: isPhrase });
  }
  return terms.slice(0, maxTerms);
}

/** Removes characters that are not part of a word. The migration does the same to the indexed text. */
const normalizeText = (text: string): string =>
  text
    .replace(/[\uFE00-\uFE0F]/g, '')
    .replace(/[^\p{L}\p{N}\p{M}]+/gu, ' ')
    .trim();

export const toWebsearchQuery = (query: string): string =>
  parseTerms(query)
    .map(({ text, excluded, phrase }) => `${excluded ? '-' : ''}${phrase ? `"${text}"` : text}`)
    .join(' ');

/** One side of an `or`: the words that a text must contain. `exact`: containing them is enough, without a check of the text. */
export interface Alternative {
  readonly words: readonly string[];
  readonly exact: boolean;
  readonly excludes: boolean;
}

export function parseAlternatives(query: string): Alternative[] {
  const alternatives: Term[][] = [[]];
  for (const term of parseTerms(query)) {
    if (term.text.toLowerCase() === 'or' && !term.phrase && !term.excluded) alternatives.push([]);
    else alternatives.at(-1)?.push(term);
  }
  const plainWord = /^[\p{L}\p{N}]+$/u;
  return alternatives.map((terms) => ({
    words: terms.filter(({ excluded }) => !excluded).map(({ text }) => text),
    excludes: terms.some(({ excluded }) => excluded),
    exact:
      alternatives.length === 1 &&
      terms.every(({ text, excluded, phrase }) => !excluded && !phrase && plainWord.test(text)),
  }));
}
