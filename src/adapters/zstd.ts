/** Zstandard of Node.js, in its threads. Memory stays bounded: a stream reads on when its reader has read. */
import { Readable } from 'node:stream';
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib';
import { type Compression, DamagedFile } from '../kernel/ports/compression.ts';

const chunkSize = 256 * 1024;

/** The lines are mostly hashes: a higher level takes a multiple of the time, and makes the file no smaller. */
const params = { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 };

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

export const zstd: Compression = {
  compress: (content) => through(content, createZstdCompress({ chunkSize, params })),
  // The decoder refuses a window of more than 128 MB, which is its default.
  decompress: (content) => through(content, createZstdDecompress({ chunkSize })),
};
