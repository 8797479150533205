/**
 * What somebody typed, as PostgreSQL's websearch_to_tsquery reads it: words, "phrases", -exclusions, or. Rebuilt from its parts,
 * since that function gives up on operators that are piled up.
 */
const term = /(-?)-*(?:"([^"]*)"|([^\s"]+))/g;
const maxTerms = 30;

export function readWords(typed: string): string {
  const terms: string[] = [];
  for (const [, not = '', phrase, word] of typed.matchAll(term)) {
    const text = (phrase ?? word ?? '').replace(/^-+/, '').trim();
    if (text !== '') terms.push(`${not}${phrase === undefined ? text : `"${text}"`}`);
  }
  return terms.slice(0, maxTerms).join(' ');
}
