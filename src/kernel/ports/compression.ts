/** Compresses files as streams. Implemented by adapters/zstd.ts. */

export interface Compression {
  compress(content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
  /** Throws DamagedFile when the content is not complete, or was changed. */
  decompress(content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>;
}

export class DamagedFile extends Error {
  override readonly name = 'DamagedFile';
}
