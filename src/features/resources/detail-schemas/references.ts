/** The schema that `#/…` names (RFC 6901, as a fragment); undefined when there is none. Boolean schemas are schemas too. */
export function resolveRef(root: unknown, ref: string): unknown {
  if (!ref.startsWith('#')) return undefined;
  let fragment: string;
  try {
    fragment = decodeURIComponent(ref.slice(1));
  } catch {
    return undefined;
  }
  const [start, ...names] = fragment.split('/');
  if (start !== '') return undefined;
  return names.reduce<unknown>((found, name) => {
    const field = name.replaceAll('~1', '/').replaceAll('~0', '~');
    return typeof found === 'object' && found !== null && Object.hasOwn(found, field)
      ? (found as Readonly<Record<string, unknown>>)[field]
      : undefined;
  }, root);
}
