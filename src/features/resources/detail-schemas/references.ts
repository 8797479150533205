import { pointerTo } from '../../../kernel/http/input/authorization-details.ts';

/** The names on the way to the place of `#/…` (RFC 6901 §6); undefined for any other reference. */
function namesOf(ref: string): readonly string[] | undefined {
  if (!ref.startsWith('#')) return undefined;
  try {
    const [start, ...names] = decodeURIComponent(ref.slice(1)).split('/');
    return start === '' ? names.map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~')) : undefined;
  } catch {
    return undefined;
  }
}

/** The JSON pointer of a reference, in the one spelling. */
export const refPointer = (ref: string): string | undefined => namesOf(ref)?.reduce(pointerTo, '');

/** The schema that a reference names. */
export const resolveRef = (root: unknown, ref: string): unknown =>
  namesOf(ref)?.reduce<unknown>(
    (found, name) =>
      typeof found === 'object' && found !== null && Object.hasOwn(found, name)
        ? (found as Readonly<Record<string, unknown>>)[name]
        : undefined,
    root,
  );
