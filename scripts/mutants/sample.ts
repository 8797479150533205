import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { Mutant } from './instrument.ts';

/** The same mutants for the same seed. Each is chosen by its own text, so that a change elsewhere in the file moves no other. */
export function sampleOf(mutants: readonly Mutant[], size: number, seed: number): Mutant[] {
  const seen = new Map<string, number>();
  const keyOf = ({ file, mutator, original, replacement }: Mutant) => {
    const text = [basename(file), mutator, original, replacement].join('\n');
    const count = seen.get(text) ?? 0;
    seen.set(text, count + 1);
    return createHash('sha256').update(`${seed}\n${count}\n${text}`).digest('hex');
  };
  return mutants
    .map((mutant) => ({ mutant, key: keyOf(mutant) }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1))
    .slice(0, size)
    .map(({ mutant }) => mutant);
}
