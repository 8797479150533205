/** The lines of an export in a file. */
import { maxLineLength } from './lines.ts';

/**
 * The lines of each chunk together: a promise per line would cost more than the check of the line. Only a line feed ends a
 * line, with or without a carriage return: strings of JSON may contain the other line breaks of Unicode.
 */
export async function* readLines(chunks: AsyncIterable<string>): AsyncGenerator<readonly string[], void> {
  let rest = '';
  for await (const chunk of chunks) {
    const lines = chunk.split('\n');
    lines[0] = rest + lines[0];
    rest = lines.pop() ?? '';
    yield lines.map(withoutReturn);
    // Verification refuses it. A file without line feeds must not fill the memory.
    if (rest.length > maxLineLength) {
      yield [rest];
      return;
    }
  }
  yield [withoutReturn(rest)];
}

const withoutReturn = (line: string): string => (line.endsWith('\r') ? line.slice(0, -1) : line);
