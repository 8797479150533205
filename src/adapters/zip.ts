/** ZIP archives by fflate, which the first archive imports. */

import { Readable } from 'node:stream';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';

interface ArchivedFile {
  readonly path: string;
  readonly text: string;
}

/**
 * The archive as a stream with backpressure. It compresses one file at a time and yields to the event loop in between. The same files
 * give the same bytes: no entry contains the current time.
 */
export const archive = (files: Iterable<ArchivedFile>): Readable =>
  Readable.from(chunks(files), { objectMode: false });

async function* chunks(files: Iterable<ArchivedFile>): AsyncGenerator<Uint8Array> {
  const { strToU8, Zip, ZipDeflate } = await import('fflate');
  let pending: Uint8Array[] = [];
  const zip = new Zip((error, chunk) => {
    if (error) throw error;
    pending.push(chunk);
  });
  const flush = () => {
    const flushed = Buffer.concat(pending);
    pending = [];
    return flushed;
  };
  for (const { path, text } of files) {
    // mem 0: the files are small, and initializing larger hash tables would take most of the time.
    const entry = new ZipDeflate(path, { level: 6, mem: 0 });
    // ZIP stores local time, from 1980 on.
    entry.mtime = new Date(1980, 0, 1);
    entry.os = 3;
    entry.attrs = 0o100644 << 16;
    zip.add(entry);
    entry.push(strToU8(text), true);
    yield flush();
    await yieldToEventLoop();
  }
  zip.end();
  yield flush();
}

interface UnpackLimits {
  readonly maxFiles: number;
  readonly maxFileBytes: number;
  /** Of all files together. */
  readonly maxBytes: number;
}

/**
 * The files of an archive. Throws for an invalid archive, and before unpacking for one beyond the limits. The declared sizes may be
 * false: no file gets more memory than it declares.
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
      // fflate copies `size` bytes of uncompressed files; entries may share the same bytes.
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
