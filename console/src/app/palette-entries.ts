/** The entries of the palette that need no server: which ones match, and in which order. */
import type { IconName } from '../components/icon-paths.ts';

/** In this order. Those of the server come last, so that an answer moves nothing that is chosen already. */
export const entryKinds = ['Pages', 'Actions', 'Agents', 'APIs', 'People'] as const;

export interface Entry {
  readonly id: string;
  readonly kind: (typeof entryKinds)[number];
  readonly label: string;
  /** A second name, such as the e-mail address of a person. */
  readonly detail?: string | undefined;
  /** More words that find it. */
  readonly keywords?: string | undefined;
  readonly icon: IconName;
  readonly run: () => void;
}

/** Entries that have all the typed words, in each kind the best first: names that begin with the text, then words that do. */
export function findEntries(entries: readonly Entry[], typed: string): readonly Entry[] {
  const wanted = typed.trim().toLowerCase();
  const words = wanted.split(/\s+/).filter(Boolean);
  const rank = ({ label }: Entry): number => {
    const name = label.toLowerCase();
    if (name.startsWith(wanted)) return 0;
    if (name.includes(` ${wanted}`)) return 1;
    return name.includes(wanted) ? 2 : 3;
  };
  return entries
    .filter(({ label, detail = '', keywords = '' }) => {
      const haystack = `${label} ${detail} ${keywords}`.toLowerCase();
      return words.every((word) => haystack.includes(word));
    })
    .sort(
      (one, other) =>
        entryKinds.indexOf(one.kind) - entryKinds.indexOf(other.kind) || rank(one) - rank(other),
    );
}

/** The groups that have entries, in order. */
export const groupEntries = (entries: readonly Entry[]) =>
  entryKinds
    .map((kind) => ({ kind, entries: entries.filter((entry) => entry.kind === kind) }))
    .filter((group) => group.entries.length > 0);
