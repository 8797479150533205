import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { archivePlace } from './archive.ts';
import { ConfigProblems, type Environment, loadArchive } from './config.ts';

function problemsOf(env: Environment): readonly string[] {
  try {
    loadArchive(env);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigProblems);
    return error.problems;
  }
}

describe('AUDIT_ARCHIVE_*', () => {
  it('are read together, and without AUDIT_ARCHIVE_URL there is no archive', () => {
    assert.equal(loadArchive({}), undefined);
    assert.equal(loadArchive({ AUDIT_ARCHIVE_URL: ' ' }), undefined);
    const archive = loadArchive({
      AUDIT_ARCHIVE_URL: 's3://bucket/some/prefix/',
      AUDIT_ARCHIVE_ENDPOINT: 'https://s3.example.com:9000/storage/',
      AUDIT_ARCHIVE_REGION: 'eu-central-1',
      AUDIT_ARCHIVE_LOCK_DAYS: '3650',
    });
    assert.deepEqual(archive, {
      url: 's3://bucket/some/prefix/',
      endpoint: 'https://s3.example.com:9000/storage',
      region: 'eu-central-1',
      lockDays: 3_650,
    });
    assert.ok(Object.isFrozen(archive));
  });

  it('name a bucket with a prefix, or a folder', () => {
    const bucket = (name: string, prefix: string) => ({ kind: 'bucket', bucket: name, prefix });
    assert.deepEqual(archivePlace('s3://my.bucket-1'), bucket('my.bucket-1', ''));
    assert.deepEqual(archivePlace('s3://bucket/'), bucket('bucket', ''));
    assert.deepEqual(archivePlace('S3://bucket/a/b=1/c.d_e/'), bucket('bucket', 'a/b=1/c.d_e'));
    assert.deepEqual(archivePlace('file:///srv/audit%20log'), { kind: 'folder', folder: '/srv/audit log' });
  });

  for (const [url, message] of [
    ['/srv/archive', /^AUDIT_ARCHIVE_URL must be s3:\/\/bucket\/prefix or file:\/\/\/folder$/],
    ['gs://bucket', /must be s3:\/\/bucket\/prefix or file:\/\/\/folder$/],
    ['https://bucket.s3.amazonaws.com/hidden', /must be s3:/],
    ['s3:bucket', /must be s3:/],
    ['s3://', /names no bucket: s3:\/\/bucket\/prefix/],
    ['s3:///prefix', /names no bucket/],
    ['s3://a', /must name a bucket with letters/],
    ['s3://bucket:9000/prefix', /without a port/],
    ['s3://hidden:hidden@bucket/prefix', /without credentials: they come from AWS_ACCESS_KEY_ID/],
    ['s3://bucket/prefix?versionId=hidden', /without a query or a fragment/],
    ['s3://bucket/a/../b', /without "\." and "\.\." in the path/],
    ['s3://bucket/a//b', /with single slashes between/],
    ['s3://bucket/a b', /must have a prefix of at most 500 letters/],
    [`s3://bucket/${'a'.repeat(501)}`, /at most 500 letters/],
    ['file://archive', /must name a folder from the root, with three slashes: file:\/\/\/folder/],
    ['file://localhost/srv', /with three slashes/],
    ['file:srv', /with three slashes/],
    ['file:///', /must name a folder, not the root/],
    ['file:///srv/../etc', /without "\." and "\.\."/],
    ['file:///srv/%2e%2e/etc', /without "\." and "\.\."/],
    ['file:///srv%2Fa', /must be file:\/\/\/ and the path of a folder/],
  ] as const)
    it(`refuse ${url.slice(0, 40)}`, () => {
      const [problem = '', ...others] = problemsOf({ AUDIT_ARCHIVE_URL: url });
      assert.match(problem, /^AUDIT_ARCHIVE_URL /);
      assert.match(problem, message);
      assert.doesNotMatch(problem, /hidden/);
      assert.deepEqual(others, []);
    });

  it('refuse an endpoint, a region and a retention that are none', () => {
    const url = { AUDIT_ARCHIVE_URL: 's3://bucket' };
    const endpoint = (AUDIT_ARCHIVE_ENDPOINT: string) =>
      problemsOf({ ...url, AUDIT_ARCHIVE_ENDPOINT }).join();
    assert.match(endpoint('s3.example.com'), /^AUDIT_ARCHIVE_ENDPOINT must be the http or https address/);
    assert.match(endpoint('ftp://s3.example.com'), /must be the http or https address/);
    assert.match(endpoint('https://hidden:hidden@s3.example.com'), /^(?!.*hidden).* without credentials/);
    assert.match(endpoint('https://s3.example.com/?a=hidden'), /^(?!.*hidden).* query/);
    assert.match(
      problemsOf({ ...url, AUDIT_ARCHIVE_REGION: 'eu central' }).join(),
      /^AUDIT_ARCHIVE_REGION must be/,
    );
    for (const days of ['0', '-1', '1.5', '36501', 'forever'])
      assert.match(
        problemsOf({ ...url, AUDIT_ARCHIVE_LOCK_DAYS: days }).join(),
        /^AUDIT_ARCHIVE_LOCK_DAYS must be/,
      );
  });

  it('refuse settings of a bucket without a bucket', () => {
    const settings = {
      AUDIT_ARCHIVE_ENDPOINT: 'https://s3.example.com',
      AUDIT_ARCHIVE_REGION: 'eu-central-1',
      AUDIT_ARCHIVE_LOCK_DAYS: '30',
    };
    for (const AUDIT_ARCHIVE_URL of [undefined, 'file:///srv/archive']) {
      const problems = problemsOf({ ...settings, AUDIT_ARCHIVE_URL });
      assert.deepEqual(
        problems.map((problem) => problem.split(' ')[0]),
        Object.keys(settings),
      );
      for (const problem of problems)
        assert.match(problem, /is only for a bucket: remove it, or set AUDIT_ARCHIVE_URL to s3:/);
      assert.match(problems[2] ?? '', /a folder has no Object Lock$/);
    }
    assert.deepEqual(problemsOf({ ...settings, AUDIT_ARCHIVE_URL: 's3://bucket' }), []);
  });
});
