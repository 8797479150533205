/**
 * The log of `dev` for people: pino's JSON lines as text. `serve` keeps JSON, for programs. Ours instead of pino-pretty, because it removes
 * control characters from what others wrote, and adds no dependency to the server.
 */
import type { DestinationStream } from 'pino';
import type { Io } from './io.ts';
import { oneLine, print } from './terminal.ts';

const levels: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warning',
  50: 'error',
  60: 'fatal',
};

export const readableLog = (io: Io): DestinationStream => ({
  write: (line) => print(io, readableLine(line)),
});

/** `12:00:00 warning  redis unavailable; counting per process (attempt 3)`, and the stack of an error below it. */
export function readableLine(line: string): string {
  let entry: Record<string, unknown>;
  try {
    entry = JSON.parse(line);
  } catch {
    return line.trimEnd();
  }
  const { level, time, pid, msg = '', err, ...fields } = entry;
  const clock = /T(\d\d:\d\d:\d\d)/.exec(String(time))?.[1] ?? '';
  const { message, stack } = (typeof err === 'object' && err !== null ? err : { message: err }) as Record<
    string,
    unknown
  >;
  const more = Object.entries({ ...fields, ...(message !== undefined && { error: message }) }).map(
    ([name, value]) => `${name}: ${oneLine(typeof value === 'object' ? JSON.stringify(value) : value)}`,
  );
  const title = `${clock} ${(levels[Number(level)] ?? 'info').padEnd(8)} ${oneLine(msg)}`;
  const frames = typeof stack === 'string' ? stack.split('\n').slice(1) : [];
  return [`${title}${more.length > 0 ? ` (${more.join(', ')})` : ''}`, ...frames].join('\n');
}
