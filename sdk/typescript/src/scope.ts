/** Scopes as programs give them: a list, or text with spaces between them. */
export type Scopes = string | readonly string[];

/** Sorted, so that the cache knows the same scopes again. */
export function readScope(scope: Scopes | undefined): string | undefined {
  if (scope === undefined) return undefined;
  const names = (typeof scope === 'string' ? scope : scope.join(' ')).split(/\s+/).filter(Boolean);
  if (names.length === 0) throw new TypeError('scope must name a scope; leave it out for all scopes');
  return [...new Set(names)].sort().join(' ');
}
