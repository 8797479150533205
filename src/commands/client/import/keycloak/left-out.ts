/** What an import leaves out, and why. */

export interface LeftOut {
  add(what: string, why: string): void;
  readonly all: readonly { readonly what: string; readonly why: string }[];
}

export function createLeftOut(): LeftOut {
  const all: { what: string; why: string }[] = [];
  return { all, add: (what, why) => void all.push({ what, why }) };
}
