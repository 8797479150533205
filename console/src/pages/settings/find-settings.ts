import type { Instance } from '../../api/generated.ts';

export type Setting = Instance['configuration'][number];

/** The settings with all the words in name, value, group or meaning. A name is found with spaces for its underscores, too. */
export function findSettings(settings: readonly Setting[], typed: string): readonly Setting[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  return settings.filter(({ name, value, group, description }) => {
    const haystack = `${name} ${value ?? ''} ${group} ${description}`.toLowerCase();
    return words.every((word) => haystack.includes(word));
  });
}
