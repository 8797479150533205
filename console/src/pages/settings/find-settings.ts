import type { Instance } from '../../api/generated.ts';

export type Setting = Instance['configuration'][number];

/** The settings with all the words in name, value, group or meaning, where a word begins: "rate" is in RATE_LIMIT, not in "separated". */
export function findSettings(settings: readonly Setting[], typed: string): readonly Setting[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return settings.filter(({ name, value, group, description }) => {
    const haystack = `${name} ${value ?? ''} ${group} ${description}`.toLowerCase();
    return words.every((word) => begins(haystack, word));
  });
}

function begins(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1))
    if (!/[a-z0-9]/.test(text[at - 1] ?? '')) return true;
  return false;
}
