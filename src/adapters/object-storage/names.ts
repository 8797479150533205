import { ObjectStorageError } from '../../kernel/ports/object-storage.ts';

/** No segment begins with a dot: `..` would leave the archive, and the folder has files of its own that begin with one. */
const isSegment = (text: string) => /^[\w=-][\w.=-]*$/.test(text);

export const isName = (name: string): boolean => name.length <= 500 && name.split('/').every(isSegment);

export function checkName(name: string): void {
  if (!isName(name))
    throw new ObjectStorageError(
      `${JSON.stringify(name)} cannot be the name of an object: letters, digits, dots, -, _ and = with single slashes between, and no part that begins with a dot`,
    );
}

/** The last part of a prefix may be empty, or the beginning of a name. */
export function checkPrefix(prefix: string): void {
  if (prefix !== '') checkName(prefix.endsWith('/') ? prefix.slice(0, -1) : prefix);
}
