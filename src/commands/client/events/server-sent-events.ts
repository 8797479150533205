/** Reads the messages of a stream of server-sent events (WHATWG HTML, section 9.2). */
import { setTimeout as sleep } from 'node:timers/promises';

export interface StreamMessage {
  readonly id: string | undefined;
  /** Undefined in a message that only moves the position. */
  readonly data: string | undefined;
}

/** Several times the longest event. The server may be anyone's. */
const maxMessageLength = 4 * 1024 * 1024;

/** Ends with the stream. Throws when the connection is cut, or when nothing arrives for `idleMs`. */
export async function* readMessages(
  body: ReadableStream<Uint8Array>,
  idleMs: number,
): AsyncGenerator<StreamMessage> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await withinIdleTime(reader.read(), idleMs);
      // The rest is a message that was cut off; its id was not taken, so it is sent again.
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const end = text.lastIndexOf('\n\n');
      if (end >= 0) {
        for (const block of text.slice(0, end).split(/\n\n+/)) yield messageOf(block);
        text = text.slice(end + 2);
      }
      if (text.length > maxMessageLength)
        throw new Error(`a message is longer than ${maxMessageLength} characters`);
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** The server sends a heartbeat every few seconds. */
async function withinIdleTime<T>(read: Promise<T>, idleMs: number): Promise<T> {
  const timer = new AbortController();
  const late = sleep(idleMs, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`nothing arrived for ${idleMs / 1_000} seconds`);
  });
  late.catch(() => {});
  return Promise.race([read, late]).finally(() => timer.abort());
}

function messageOf(block: string): StreamMessage {
  const fields = block.split('\n').map((line) => {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    return { name, value };
  });
  const data = fields.filter(({ name }) => name === 'data').map(({ value }) => value);
  return {
    id: fields.findLast(({ name }) => name === 'id')?.value,
    data: data.length === 0 ? undefined : data.join('\n'),
  };
}
