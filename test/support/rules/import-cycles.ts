/** Import cycles: the strongly connected components of the import graph with more than one file (Tarjan's algorithm). */
export function importCycles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const cycles: string[][] = [];

  const visit = (file: string): number => {
    const own = index.size;
    index.set(file, own);
    low.set(file, own);
    stack.push(file);
    for (const target of imports.get(file) ?? []) {
      if (!imports.has(target)) continue;
      const reached = index.has(target) ? index.get(target) : visit(target);
      if (stack.includes(target))
        low.set(file, Math.min(low.get(file) ?? own, low.get(target) ?? own, reached ?? own));
    }
    if (low.get(file) === own) {
      const component = stack.splice(stack.indexOf(file)).sort();
      if (component.length > 1) cycles.push(component);
    }
    return low.get(file) ?? own;
  };

  for (const file of imports.keys()) if (!index.has(file)) visit(file);
  return cycles;
}
