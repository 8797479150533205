/** The bytes of an entry bundle: each entry after its length (16 bits, big-endian). */
import { type Bytes, concat } from './bytes.ts';
import { TransparencyError } from './errors.ts';
import { fullWidth } from './tile.ts';

export const maxEntryBytes = 0xffff;
const lengthBytes = 2;

export function formatEntryBundle(entries: readonly Uint8Array[]): Bytes {
  if (entries.length < 1 || entries.length > fullWidth)
    throw new TransparencyError('BUNDLE_MALFORMED', `a bundle has 1 to ${fullWidth} entries`);
  return concat(...entries.flatMap((entry) => [lengthOf(entry), entry]));
}

function lengthOf({ length }: Uint8Array): Bytes {
  if (length > maxEntryBytes)
    throw new TransparencyError('BUNDLE_MALFORMED', `an entry has at most ${maxEntryBytes} bytes`);
  return Uint8Array.of(length >> 8, length & 0xff);
}

/** Throws unless the bundle has exactly this number of entries. */
export function parseEntryBundle(bytes: Uint8Array, width: number): readonly Bytes[] {
  if (width < 1 || width > fullWidth)
    throw new TransparencyError('BUNDLE_MALFORMED', `a bundle has 1 to ${fullWidth} entries`);
  const entries: Bytes[] = [];
  let at = 0;
  while (entries.length < width) {
    const start = at + lengthBytes;
    const end = start + (((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0));
    if (end > bytes.length) throw new TransparencyError('BUNDLE_MALFORMED', 'the bundle ends too early');
    entries.push(concat(bytes.subarray(start, end)));
    at = end;
  }
  if (at !== bytes.length) throw new TransparencyError('BUNDLE_MALFORMED', 'bytes after the last entry');
  return entries;
}
