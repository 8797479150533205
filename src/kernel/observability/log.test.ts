import assert from 'node:assert/strict';
import { test } from 'node:test';
import { variables } from '../config/variables.ts';
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

test('each secret of the configuration is redacted', () => {
  const secrets = Object.entries(variables)
    .filter(([, { orFile, env }]) => orFile && !/PUBLIC_KEY|_CA$/.test(env))
    .map(([name]) => name);
  assert.ok(secrets.includes('dataEncryptionPreviousKeys'));
  for (const name of secrets) {
    const text = logged((log) => log.info({ [name]: 's3cret', config: { [name]: 's3cret' } }));
    assert.doesNotMatch(text, /s3cret/, name);
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

test('passwords in addresses with several hosts and in their parameters are redacted', () => {
  for (const [address, shown] of [
    [
      'postgres://me:s3cret@h1:1,h2:2/x?sslpassword=s3cret&a=b',
      /me:\*\*\*@h1:1,h2:2\/x\?sslpassword=\*\*\*&a=b/,
    ],
    [
      'redis+sentinel://:s3cret@h1,h2/main?sentinelPassword=s3cret',
      /:\*\*\*@h1,h2\/main\?sentinelPassword=\*\*\*/,
    ],
    ['rediss+cluster://me:s3cret@h1', /me:\*\*\*@h1/],
  ] as const) {
    const text = logged((log) => log.error({ err: new Error(`cannot reach ${address}`) }, 'failed'));
    assert.doesNotMatch(text, /s3cret/);
    assert.match(text, shown);
  }
});
