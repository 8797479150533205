/** Zstandard, part by part as a file arrives: browsers have no decoder of their own that all of them share. */
import { Decompress } from 'fzstd';

/** The bytes are no Zstandard, or end too early. */
export class NotDecodable extends Error {}

/** Four bytes can stand for two megabytes, so the decoder gets few bytes at a time: what comes out of them stays bounded. */
const bytesPerPush = 256;

export async function* decompressed(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let parts: Uint8Array[] = [];
  const decoder = new Decompress((part) => void parts.push(part));
  const push = (bytes: Uint8Array, isLast = false): readonly Uint8Array[] => {
    parts = [];
    try {
      decoder.push(bytes, isLast);
    } catch (error) {
      throw new NotDecodable((error as Error).message);
    }
    return parts;
  };
  for await (const chunk of chunks)
    for (let at = 0; at < chunk.length; at += bytesPerPush)
      for (const part of push(chunk.subarray(at, at + bytesPerPush))) yield part;
  yield* push(Uint8Array.of(), true);
}
