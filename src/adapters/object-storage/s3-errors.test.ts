import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { storageError } from './s3-errors.ts';

/** As the SDK throws it. */
const answer = (name: string, httpStatusCode: number, message = 'words of the server') =>
  Object.assign(new Error(message), { name, $metadata: { httpStatusCode } });
const failure = (code: string, message = '') => Object.assign(new Error(message), { code });

/** Those that a server of the tests does not produce; s3.test.ts has the others. */
describe('errors of S3', () => {
  for (const [error, message] of [
    [answer('RequestTimeTooSkewed', 403), /: the clocks differ: .* NTP \(RequestTimeTooSkewed, 403\)$/],
    [answer('ExpiredToken', 400), /the credentials are refused/],
    [answer('AccessDenied', 403), /they need s3:ListBucket/],
    [answer('PermanentRedirect', 301), /another region: set AUDIT_ARCHIVE_REGION/],
    [answer('AuthorizationHeaderMalformed', 400), /another region/],
    [failure('', 'Region is missing'), /: the region is not known: set AUDIT_ARCHIVE_REGION or AWS_REGION$/],
    [
      answer('InvalidRequest', 400, 'Bucket is missing Object Lock Configuration'),
      /the bucket has no Object Lock/,
    ],
    [answer('ObjectLockConfigurationNotFoundError', 404), /the bucket has no Object Lock/],
    [answer('NotImplemented', 501), /does not know .* conditional writes \(If-None-Match\)/],
    [answer('XMinioStorageFull', 507), /the storage is full/],
    [answer('QuotaExceeded', 403), /the storage is full/],
    [answer('BadDigest', 400), /changed on the way/],
    [answer('ConditionalRequestConflict', 409), /another process wrote the same object/],
    [answer('SlowDown', 503), /fails or is overloaded/],
    [failure('DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate'), /NODE_EXTRA_CA_CERTS.*\(DEPTH_ZERO/],
    [failure('ENOTFOUND', 'getaddrinfo ENOTFOUND s3.example.com'), /cannot be reached/],
    [new AggregateError([], ''), /unknown error$/],
    [answer('MalformedXML', 400), /: words of the server \(MalformedXML, 400\)$/],
  ] as const)
    it(`${error.name} ${'code' in error ? error.code : ''}: ${message.source.slice(0, 50)}`, () => {
      assert.match(storageError('s3://bucket: writing a failed', error, false).message, message);
    });

  it('neither a query, which may have a signature, nor a long text is repeated', () => {
    const error = answer('Odd', 400, `at https://host/key?X-Amz-Signature=abc ${'long '.repeat(100)}`);
    const { message } = storageError('reading failed', error, false);
    assert.doesNotMatch(message, /Signature|abc/);
    assert.ok(message.length < 300);
  });

  it('an invalid request with a retention is a bucket without Object Lock', () => {
    const error = answer('InvalidRequest', 400, 'Invalid Request');
    assert.match(storageError('x', error, true).message, /the bucket has no Object Lock/);
    assert.match(storageError('x', error, false).message, /Invalid Request/);
  });
});
