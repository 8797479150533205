/** ZIP archives by fflate, which is loaded with the first one. */

import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';

export interface ArchivedFile {
  readonly path: string;
  readonly text: string;
}

/**
 * The archive as a stream, one file compressed at a time with everybody else's turn in between, and only when the reader
 * wants more. The same files give the same bytes: no entry carries the time it was made.
 */
export const archive = (files: Iterable<ArchivedFile>): Readable =>
  Readable.from(pieces(files), { objectMode: false });

async function* pieces(files: Iterable<ArchivedFile>): AsyncGenerator<Uint8Array> {
  const { strToU8, Zip, ZipDeflate } = await import('fflate');
  let made: Uint8Array[] = [];
  const zip = new Zip((error, piece) => {
    if (error) throw error;
    made.push(piece);
  });
  const take = () => {
    const taken = Buffer.concat(made);
    made = [];
    return taken;
  };
  for (const { path, text } of files) {
    // Small tables: the files are small, and filling large ones would take most of the time.
    const entry = new ZipDeflate(path, { level: 6, mem: 0 });
    // Archives hold local time, and nothing before 1980.
    entry.mtime = new Date(1980, 0, 1);
    entry.os = 3;
    entry.attrs = 0o100644 << 16;
    zip.add(entry);
    entry.push(strToU8(text), true);
    yield take();
    await nextTurn();
  }
  zip.end();
  yield take();
}

export interface UnpackLimits {
  readonly maxFiles: number;
  readonly maxFileBytes: number;
  /** Of all files together. */
  readonly maxBytes: number;
}

/**
 * The files of an archive; throws for anything else, and for an archive beyond the limits, before it is unpacked. What the archive
 * declares need not be true: no file gets more memory than it declares, whatever comes of its bytes.
 */
export async function unpack(
  archived: Uint8Array,
  { maxFiles, maxFileBytes, maxBytes }: UnpackLimits,
): Promise<{ path: string; bytes: Uint8Array }[]> {
  const { unzipSync } = await import('fflate');
  let files = 0;
  let total = 0;
  const unpacked = unzipSync(archived, {
    filter({ size, originalSize }) {
      // Uncompressed files are copied by the first of the two; entries may share the same bytes.
      const bytes = Math.max(size, originalSize);
      files += 1;
      total += bytes;
      if (files > maxFiles) throw new Error(`it has more than ${maxFiles} files`);
      if (bytes > maxFileBytes) throw new Error(`it has a file of more than ${maxFileBytes} bytes`);
      if (total > maxBytes) throw new Error(`it unpacks to more than ${maxBytes} bytes`);
      return true;
    },
  });
  return Object.entries(unpacked).map(([path, bytes]) => ({ path, bytes }));
}
