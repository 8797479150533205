import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from './log.ts';

function logged(write: (log: ReturnType<typeof createLog>) => void): string {
  const lines: string[] = [];
  write(createLog({ level: 'info', destination: { write: (line) => void lines.push(line) } }));
  return lines.join('');
}

test('secrets are redacted by field name, on the first four levels', () => {
  for (const wrap of [
    (fields: object) => fields,
    (fields: object) => ({ a: fields }),
    (fields: object) => ({ a: { b: fields } }),
    (fields: object) => ({ a: { b: { c: fields } } }),
  ]) {
    const text = logged((log) =>
      log.info(
        wrap({
          authorization: 'Bearer s3cret',
          client_secret: 's3cret',
          clientSecret: 's3cret',
          access_token: 's3cret',
          password: 's3cret',
          clientId: 'public',
        }),
      ),
    );
    assert.doesNotMatch(text, /s3cret/);
    assert.match(text, /public/);
  }
});

test('passwords in URLs are redacted in errors and reasons', () => {
  const message = 'cannot reach postgres://me:s3cret@db/x';
  for (const fields of [{ err: new Error(message) }, { reason: message }]) {
    const text = logged((log) => log.error(fields, 'failed'));
    assert.doesNotMatch(text, /s3cret/);
    assert.match(text, /postgres:\/\/me:\*\*\*@db/);
  }
});
