import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DeleteObjectCommand,
  GetObjectRetentionCommand,
  ListMultipartUploadsCommand,
  ListObjectVersionsCommand,
  PutBucketPolicyCommand,
} from '@aws-sdk/client-s3';
import { skipWithout } from '../../../test/support/harness.ts';
import {
  conform,
  megabyte,
  megabytes,
  namesOf,
  pieces,
  readAll,
  text,
} from '../../../test/support/object-storage-suite.ts';
import { startPeer } from '../../../test/support/peers/http-peer.ts';
import { startRelay } from '../../../test/support/peers/relay.ts';
import {
  type S3Server,
  s3ServerIsNeeded,
  setVariables,
  startS3Server,
  useCredentials,
} from '../../../test/support/peers/s3-server.ts';
import { ObjectStorageError } from '../../kernel/ports/object-storage.ts';
import { openObjectStorage } from './open.ts';
import { openBucket } from './s3.ts';
import type { S3Limits } from './s3-requests.ts';

const small = { partBytes: 5 * megabyte, pageSize: 3 };
/** For storage that does not answer. */
const impatient = { ...small, connectionMs: 500, requestMs: 500, operationMs: 2_500, stallMs: 500 };

describe('a bucket as object storage', async () => {
  const server = await startS3Server();
  if (server) {
    after(useCredentials(server.owner));
    await server.createBucket('archive');
    await server.createBucket('locked', { objectLock: true });
  }

  const withServer = (title: string, work: (server: S3Server, t: TestContext) => Promise<void>) =>
    it(title, async (t) => {
      if (!server) return skipWithout(t, s3ServerIsNeeded);
      await work(server, t);
    });

  const open = (
    { endpoint }: Pick<S3Server, 'endpoint'>,
    {
      bucket = 'archive',
      prefix = '',
      lockDays,
    }: { bucket?: string; prefix?: string; lockDays?: number } = {},
    limits: Partial<S3Limits> = small,
  ) => openBucket({ bucket, prefix, endpoint, lockDays }, limits);

  const failsWith = (pattern: RegExp) => (error: unknown) => {
    assert.ok(error instanceof ObjectStorageError, String(error));
    assert.match(error.message, pattern);
    assert.doesNotMatch(error.message, /secret-of|\?|Signature=/);
    return true;
  };

  withServer('conforms', (each, t) =>
    conform(t, async (prefix) => ({
      storage: open(each, { prefix }),
      unfinished: async () => (await uploadsOf(each, 'archive')).length,
    })),
  );

  withServer('conforms with Object Lock', (each, t) =>
    conform(t, async (prefix) => ({
      storage: open(each, { bucket: 'locked', prefix, lockDays: 1 }),
      unfinished: async () => (await uploadsOf(each, 'locked')).length,
    })),
  );

  withServer('objects get a retention in compliance mode, in one request and in parts', async (each) => {
    const storage = open(each, { bucket: 'locked', prefix: 'kept', lockDays: 30 });
    const { client } = each;
    for (const [name, content] of [
      ['small', pieces('x')],
      ['large', megabytes(6)],
    ] as const) {
      assert.equal(await storage.create(name, content, text), 'created');
      const object = { Bucket: 'locked', Key: `kept/${name}` };
      const { Retention } = await client.send(new GetObjectRetentionCommand(object));
      assert.equal(Retention?.Mode, 'COMPLIANCE');
      const days = (Number(Retention.RetainUntilDate) - Date.now()) / 86_400_000;
      assert.ok(days > 29.9 && days <= 30, String(days));
      const { Versions } = await client.send(
        new ListObjectVersionsCommand({ Bucket: 'locked', Prefix: object.Key }),
      );
      const [version] = Versions ?? [];
      assert.ok(version?.VersionId);
      await assert.rejects(
        client.send(new DeleteObjectCommand({ ...object, VersionId: version.VersionId })),
        { name: 'AccessDenied' },
      );
    }
  });

  withServer('a bucket without Object Lock is named, before a retention is believed', async (each) => {
    const storage = open(each, { lockDays: 30 });
    const isNamed = failsWith(
      /^s3:\/\/archive at 127\.0\.0\.1:\d+: .* the bucket has no Object Lock: make one/,
    );
    await assert.rejects(storage.create('object', pieces('x'), text), isNamed);
    await assert.rejects(storage.create('object', megabytes(6), text), isNamed);
    await assert.rejects(storage.check(), isNamed);
    assert.deepEqual(await namesOf(open(each, {}), 'object'), []);
  });

  withServer('wrong credentials, missing rights and a missing bucket are named', async (each) => {
    const attempts = (bucket?: string) => {
      const storage = open(each, { ...(bucket !== undefined && { bucket }) });
      return {
        create: () => storage.create('object', pieces('x'), text),
        createInParts: () => storage.create('object', megabytes(6), text),
        read: () => storage.read('object'),
        list: () => namesOf(storage),
        check: () => storage.check(),
      };
    };
    for (const credentials of [
      { ...each.owner, secretAccessKey: 'secret-of-another' },
      { ...each.owner, accessKeyId: 'unknown' },
    ])
      await using(useCredentials(credentials), async () => {
        for (const attempt of Object.values(attempts()))
          await assert.rejects(
            attempt(),
            failsWith(/the credentials are refused: correct or renew AWS_ACCESS_KEY_ID/),
          );
      });

    await using(useCredentials(each.reader), async () => {
      const { create, createInParts, check, ...reading } = attempts();
      for (const attempt of [create, createInParts, check])
        await assert.rejects(attempt(), failsWith(/the credentials lack a right: they need s3:ListBucket/));
      for (const attempt of Object.values(reading)) await attempt();
    });

    for (const attempt of Object.values(attempts('nowhere')))
      await assert.rejects(
        attempt(),
        failsWith(/there is no such bucket: create it, or correct AUDIT_ARCHIVE_URL/),
      );
  });

  withServer(
    'the rights of the guide are enough, also without the one to read about Object Lock',
    async (each) => {
      const guide = readFileSync(
        new URL('../../../docs/operations/archive-storage.md', import.meta.url),
        'utf8',
      );
      const { Statement } = JSON.parse(/```json\n(.*?)```/s.exec(guide)?.[1] ?? '');
      await each.createBucket('my-bucket', { objectLock: true });
      const storage = open(each, { bucket: 'my-bucket', prefix: 'countersign', lockDays: 1 });
      const readLock = 's3:GetBucketObjectLockConfiguration';
      for (const [left, found] of [
        [[], /^the bucket has Object Lock$/],
        [[readLock], /^not known whether the bucket has Object Lock, which needs/],
      ] as const) {
        const statements = Statement.map((statement: { Action: string[] }) => ({
          ...statement,
          Principal: { AWS: each.reader.accessKeyId },
          Action: statement.Action.filter((action) => !left.some((other) => other === action)),
        }));
        const Policy = JSON.stringify({ Version: '2012-10-17', Statement: statements });
        await each.client.send(new PutBucketPolicyCommand({ Bucket: 'my-bucket', Policy }));
        await using(useCredentials(each.reader), async () => {
          const limited = open(each, { bucket: 'my-bucket', prefix: 'countersign', lockDays: 1 });
          assert.match((await limited.check()).at(-1) ?? '', found);
          for (const [name, content] of [
            ['small', pieces('x')],
            ['large', megabytes(6)],
          ] as const) {
            const result = await limited.create(name, content, text);
            assert.equal(result, left.length === 0 ? 'created' : 'exists');
            assert.ok(await readAll(limited, name));
          }
          assert.equal(await limited.create(`more-${left.length}`, pieces('x'), text), 'created');
        });
      }
      assert.equal((await namesOf(storage)).length, 4);
      assert.deepEqual(await uploadsOf(each, 'my-bucket'), []);
    },
  );

  withServer('missing credentials are named', async (each) => {
    const none = {
      AWS_ACCESS_KEY_ID: '',
      AWS_SECRET_ACCESS_KEY: '',
      AWS_EC2_METADATA_DISABLED: 'true',
      AWS_SHARED_CREDENTIALS_FILE: '/nowhere',
      AWS_CONFIG_FILE: '/nowhere',
    };
    await using(setVariables(none), () =>
      assert.rejects(namesOf(open(each)), failsWith(/there are no credentials: set AWS_ACCESS_KEY_ID/)),
    );
  });

  withServer('storage that hangs or is gone ends each operation with an error', async (each) => {
    const relay = await startRelay(each.port);
    const relayed = { endpoint: `http://127.0.0.1:${relay.port}` };
    const storage = open(relayed, { prefix: 'hang' }, impatient);
    const patient = open(relayed, { prefix: 'hang' });
    await patient.create('large', megabytes(20), text);

    const found = await open(relayed, { prefix: 'hang' }, { stallMs: 500 }).read('large');
    await assert.rejects(
      async () => {
        for await (const _ of found?.content ?? []) relay.freeze();
      },
      failsWith(/reading large failed: no answer in time/),
    );
    for (const attempt of [
      () => storage.create('object', pieces('x'), text),
      () => storage.read('large'),
      () => namesOf(storage),
    ])
      await assert.rejects(attempt(), failsWith(/no answer in time: check the storage and the network/));
    const stopping = AbortSignal.timeout(50);
    await assert.rejects(storage.read('large', stopping), (error) => error === stopping.reason);

    relay.cut();
    await assert.rejects(namesOf(patient), failsWith(/the server cannot be reached.*\(ECONN\w+\)/));
    await relay.restore();
    assert.deepEqual(await namesOf(patient), ['large']);
  });

  withServer('a slow reader is not taken for a stalled server', async (each) => {
    await open(each, { prefix: 'slow' }).create('large', megabytes(40), text);
    const limits = { requestMs: 4_000, operationMs: 4_000, stallMs: 4_000 };
    const found = await open(each, { prefix: 'slow' }, limits).read('large');
    let bytes = 0;
    for await (const piece of found?.content ?? []) {
      // Longer than all limits.
      if (bytes === 0) await sleep(5_000);
      bytes += piece.length;
    }
    assert.equal(bytes, 40 * megabyte);
  });

  it('a server killed while it receives parts: an error, no object, and then a new one', async (t) => {
    const own = await startS3Server();
    if (!own) return skipWithout(t, s3ServerIsNeeded);
    await own.createBucket('archive');
    const storage = open(own);
    async function* untilKilled() {
      yield* megabytes(12);
      await own?.kill();
      yield* megabytes(12);
    }
    await assert.rejects(storage.create('object', untilKilled(), text), failsWith(/cannot be reached/));
    await own.restart();
    assert.equal(await storage.read('object'), undefined);
    assert.equal(await storage.create('object', megabytes(6), text), 'created');
    assert.equal((await readAll(storage, 'object'))?.length, 6 * megabyte);
  });

  it('an answer that ends early, or that does not say its length: an error', async () => {
    const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };
    const restore = useCredentials(credentials);
    const endpoint = await startPeer(({ url }, response) => {
      response.writeHead(200, url?.includes('/short') ? { 'content-length': '10' } : {});
      response.write('12345', () => (url?.includes('/short') ? response.destroy() : response.end()));
    });
    const storage = open({ endpoint });
    await using(restore, async () => {
      await assert.rejects(
        readAll(storage, 'short'),
        failsWith(/reading short failed: .*(aborted|ECONNRESET)/),
      );
      await assert.rejects(
        storage.read('endless'),
        failsWith(/reading endless failed: the server does not say how long it is/),
      );
    });
  });

  it('a server whose disk is full: an error, and no object', async (t) => {
    const full = await startS3Server({ maxFileKilobytes: 256 });
    if (!full) return skipWithout(t, s3ServerIsNeeded);
    await full.createBucket('archive');
    const storage = open(full);
    for (const count of [1, 6])
      await assert.rejects(
        storage.create('object', megabytes(count), text),
        failsWith(/the server fails or is overloaded: check it/),
      );
    assert.equal(await storage.read('object'), undefined);
    assert.equal(await storage.create('object', pieces('small'), text), 'created');
  });

  withServer('openObjectStorage reads the settings of AUDIT_ARCHIVE_*', async ({ endpoint }) => {
    const storage = await openObjectStorage({ url: 's3://archive/some/prefix/', endpoint });
    assert.equal(await storage.create('a', pieces('x'), text), 'created');
    assert.deepEqual(await namesOf(open({ endpoint }, { prefix: 'some/prefix' })), ['a']);
    assert.deepEqual(await namesOf(open({ endpoint }, { prefix: 'some' })), ['prefix/a']);
    await storage.close();
  });
});

const using = (end: () => void, work: () => Promise<unknown>) => work().finally(end);

async function uploadsOf({ client }: S3Server, Bucket: string) {
  const { Uploads } = await client.send(new ListMultipartUploadsCommand({ Bucket }));
  return Uploads ?? [];
}
