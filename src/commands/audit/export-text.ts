/** The text of an export in a file, in chunks. A file of the archive is compressed with Zstandard. Memory stays bounded. */
import { readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { createDecoder } from '../../../sdk/typescript/src/audit/read-lines.ts';
import { zstd } from '../../adapters/zstd.ts';
import { DamagedFile } from '../../kernel/ports/compression.ts';
import { CommandError } from '../command-error.ts';

/** Dozens of lines of an export. The processor's cache holds them. */
const bytesPerRead = 64 * 1024;

/** The first bytes of a Zstandard frame. No line of an export begins with them. */
const zstdMagic = Buffer.of(0x28, 0xb5, 0x2f, 0xfd);

export async function openExport(file: string): Promise<AsyncGenerator<string, void>> {
  const handle = await openFile(file);
  const start = Buffer.alloc(zstdMagic.length);
  readSync(handle.fd, start, { position: 0 });
  return start.equals(zstdMagic) ? decompressed(handle, file) : textIn(handle);
}

async function openFile(file: string): Promise<FileHandle> {
  try {
    const handle = await open(file);
    if (!(await handle.stat()).isDirectory()) return handle;
    await handle.close();
  } catch (error) {
    throw new CommandError(`cannot read the export: ${(error as Error).message}`);
  }
  throw new CommandError(`${file} is a folder; name the file that \`countersign audit export\` wrote`);
}

/** Nothing else runs beside the verification, so it reads without a thread and with one buffer. */
async function* textIn(handle: FileHandle): AsyncGenerator<string, void> {
  const buffer = Buffer.allocUnsafe(bytesPerRead);
  const decode = createDecoder();
  try {
    for (;;) {
      const bytes = readSync(handle.fd, buffer);
      if (bytes === 0) break;
      yield decode(buffer.subarray(0, bytes));
    }
    yield decode();
  } finally {
    await handle.close();
  }
}

async function* decompressed(handle: FileHandle, file: string): AsyncGenerator<string, void> {
  const compressed = handle.createReadStream({ highWaterMark: bytesPerRead });
  const decode = createDecoder();
  try {
    for await (const chunk of zstd.decompress(compressed)) yield decode(chunk);
    yield decode();
  } catch (error) {
    throw error instanceof DamagedFile
      ? new CommandError(`${file} is damaged or not complete: ${error.message}`)
      : new CommandError(`cannot read the export: ${(error as Error).message}`);
  } finally {
    compressed.destroy();
    await handle.close().catch(() => {});
  }
}
