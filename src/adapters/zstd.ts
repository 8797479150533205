/** Zstandard of Node.js, in its threads. Memory stays bounded: a stream reads on when its reader has read. */
import { Readable } from 'node:stream';
import { constants, createZstdCompress, createZstdDecompress, zstdCompressSync } from 'node:zlib';
import { type Compression, DamagedFile } from '../kernel/ports/compression.ts';

const chunkSize = 256 * 1024;

/**
 * The lines are mostly hashes: a higher level takes a multiple of the time, and makes the file no smaller. A line is like the ones
 * directly before it: the window of this level, four times as large, takes a third more time.
 */
const params = {
  [constants.ZSTD_c_compressionLevel]: 1,
  [constants.ZSTD_c_windowLog]: 17,
  [constants.ZSTD_c_checksumFlag]: 1,
};

type Codec = ReturnType<typeof createZstdCompress>;

async function* through(content: AsyncIterable<Uint8Array>, codec: Codec): AsyncGenerator<Uint8Array> {
  const source = Readable.from(content, { objectMode: false, highWaterMark: chunkSize });
  let failure: Error | undefined;
  source.on('error', (error) => {
    failure = error;
    codec.destroy(error);
  });
  source.pipe(codec);
  try {
    yield* codec;
  } catch (error) {
    throw failure ?? new DamagedFile(`its Zstandard compression ends with ${(error as Error).message}`);
  } finally {
    source.destroy();
    codec.destroy();
  }
}

const emptyFrame = zstdCompressSync('');

/** The decoder ends without an error at bytes that begin no frame. It reads the empty frame when the content ends with its last frame. */
async function* decompress(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  async function* marked() {
    for await (const chunk of content) {
      bytes += chunk.length;
      yield chunk;
    }
    if (bytes > 0) yield emptyFrame;
  }
  // It refuses a window of more than 128 MB, which is its default.
  const decoder = createZstdDecompress({ chunkSize });
  yield* through(marked(), decoder);
  if (bytes > 0 && decoder.bytesWritten !== bytes + emptyFrame.length)
    throw new DamagedFile('it has bytes after the end of its Zstandard compression, or ends within it');
}

export const zstd: Compression = {
  compress: (content) => through(content, createZstdCompress({ chunkSize, params })),
  decompress,
};
