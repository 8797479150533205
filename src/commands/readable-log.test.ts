import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLog } from '../kernel/observability/log.ts';
import { readableLine } from './readable-log.ts';

const lineOf = (write: (log: ReturnType<typeof createLog>) => void): string => {
  let text = '';
  write(
    createLog({
      level: 'info',
      destination: {
        write: (line) => {
          text += readableLine(line);
        },
      },
    }),
  );
  return text;
};

describe('a line of the log for people', () => {
  it('has the time, the level, the message and the fields', () => {
    const line = lineOf((log) => log.warn({ attempt: 3, list: [1] }, 'redis unavailable'));
    assert.match(line, /^\d\d:\d\d:\d\d warning {2}redis unavailable \(attempt: 3, list: \[1\]\)$/);
  });

  it('has the message and the stack of an error', () => {
    const line = lineOf((log) => log.error({ err: new Error('broken') }, 'request failed'));
    assert.match(line, /^\S+ error {4}request failed \(error: broken\)\n +at /);
  });

  it('keeps secrets redacted, and text of others on its line', () => {
    const line = lineOf((log) => log.info({ token: 'abc', name: 'a\nb\u001b[2J' }, 'x'));
    assert.match(line, /token: \[redacted\], name: a\\u\{000a\}b\\u\{001b\}\[2J/);
  });

  it('passes other text through', () => assert.equal(readableLine('plain\n'), 'plain'));
});
