/** A filter of a query: one name, or the beginning of names with a `*` at its end (`token.*`). */
type PrefixFilter = { readonly name: string } | { readonly prefix: string };

export const readPrefixFilter = (text: string): PrefixFilter =>
  text.endsWith('*') ? { prefix: text.slice(0, -1) } : { name: text };
