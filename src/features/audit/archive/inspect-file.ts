/** Reads a file of the archive to its end: its hash, and the verdict on the export in it. In pieces, so that memory stays bounded. */
import { createHash } from 'node:crypto';
import { createDecoder, splitLines } from '../../../../sdk/typescript/src/audit/read-lines.ts';
import {
  type ExportOptions,
  type ExportVerdict,
  verifyExport,
} from '../../../../sdk/typescript/src/audit/verify-export.ts';
import type { Compression } from '../../../kernel/ports/compression.ts';

export interface FileDigest {
  readonly bytes: number;
  readonly sha256: string;
}

export interface DigestStream {
  readonly content: AsyncGenerator<Uint8Array, void>;
  /** Of what was read so far; call it once. */
  digest(): FileDigest;
}

export function digestOf(source: AsyncIterable<Uint8Array>): DigestStream {
  const hash = createHash('sha256');
  let bytes = 0;
  async function* content() {
    for await (const chunk of source) {
      hash.update(chunk);
      bytes += chunk.length;
      yield chunk;
    }
  }
  return { content: content(), digest: () => ({ bytes, sha256: hash.digest('hex') }) };
}

/** With a finding, the file may not be read to its end. */
export async function inspectFile(
  source: AsyncIterable<Uint8Array>,
  { compression, ...options }: ExportOptions & { readonly compression: Compression },
): Promise<FileDigest & { readonly verdict: ExportVerdict }> {
  const file = digestOf(source);
  const text = textOf(compression.decompress(file.content));
  const verdict = await verifyExport(splitLines(text), options);
  return { verdict, ...file.digest() };
}

export async function* textOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decode = createDecoder();
  for await (const chunk of chunks) yield decode(chunk);
  yield decode();
}
