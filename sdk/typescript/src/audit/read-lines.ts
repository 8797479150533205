/** The lines of a download. */

const maxLineLength = 16 * 1024 * 1024;

/** `readLines(response.body)`: for `verifyAuditExport`. Holds one line at a time. */
export async function* readLines(stream: ReadableStream<Uint8Array> | null): AsyncGenerator<string, void> {
  if (!stream) return;
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const [first = '', ...further] = (
        done ? decoder.decode() : decoder.decode(value, { stream: true })
      ).split('\n');
      rest += first;
      for (const next of further) {
        yield rest;
        rest = next;
      }
      if (rest.length > maxLineLength)
        throw new RangeError(`a line is longer than ${maxLineLength} characters`);
      if (done) break;
    }
    if (rest !== '') yield rest;
  } finally {
    // The reader stopped before the end.
    reader.cancel().catch(() => {});
  }
}
