/** The lines of an export in a file or a download. */
import { maxLineLength } from './export-lines.ts';

/**
 * The lines of each chunk together. Only a line feed ends a line, with or without a carriage return: strings of JSON may contain the
 * other line breaks of Unicode. A line that is too long is the last one: a file without line feeds must not fill the memory.
 */
export async function* splitLines(chunks: AsyncIterable<string>): AsyncGenerator<readonly string[], void> {
  let rest = '';
  for await (const chunk of chunks) {
    const lines = chunk.split('\n');
    lines[0] = rest + lines[0];
    rest = lines.pop() ?? '';
    yield lines.map(withoutReturn);
    if (rest.length > maxLineLength) {
      yield [rest];
      return;
    }
  }
  yield [withoutReturn(rest)];
}

const withoutReturn = (line: string): string => (line.endsWith('\r') ? line.slice(0, -1) : line);

/** No line of an export has it: JSON has it only as an escape. */
const noText = '\0';

/**
 * Decodes UTF-8, chunk by chunk; without a chunk, the end. Programs differ in what they make of other bytes and of a byte order mark, so
 * neither is dropped or replaced: the line is not valid then.
 */
export function createDecoder(): (chunk?: Uint8Array) => string {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return (chunk) => {
    try {
      return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode();
    } catch {
      return noText;
    }
  };
}

/** `readLines(response.body)`: for `verifyAuditExport`. Holds the lines of a chunk at a time. */
export async function* readLines(stream: ReadableStream<Uint8Array> | null): AsyncGenerator<string, void> {
  if (!stream) return;
  for await (const lines of splitLines(textOf(stream)))
    for (const line of lines) {
      if (line.length > maxLineLength)
        throw new RangeError(`a line is longer than ${maxLineLength} characters`);
      yield line;
    }
}

/** Browsers cannot iterate over a stream. */
async function* textOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const reader = stream.getReader();
  const decode = createDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      yield decode(value);
    }
    yield decode();
  } finally {
    // The reader stopped before the end.
    reader.cancel().catch(() => {});
  }
}
