/** Collects the rows that no key decrypts. A lost key may have encrypted millions: all are counted, and the first ones named. */

import type { RotationResult } from './feature.ts';

const maxNamed = 100;

type UnreadableKind = 'damaged' | 'unknown';

export function createUnreadableRows() {
  const kinds = { damaged: { rows: 0, first: [] as string[] }, unknown: { rows: 0, first: [] as string[] } };
  return {
    add(kind: UnreadableKind, name: string): void {
      kinds[kind].rows += 1;
      if (kinds[kind].first.length < maxNamed) kinds[kind].first.push(name);
    },
    found: (): Pick<RotationResult, UnreadableKind> => kinds,
  };
}
