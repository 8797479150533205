/** Objects in a bucket. One that is larger than a part is uploaded in parts, of which one is in memory. */
import type { Readable } from 'node:stream';
import {
  GetObjectCommand,
  GetObjectLockConfigurationCommand,
  ListObjectsV2Command,
} from '@aws-sdk/client-s3';
import { createStallTimer } from '../../kernel/concurrency/stall-timer.ts';
import { checkName, checkPrefix, isName } from './names.ts';
import type { CheckedStorage } from './open.ts';
import { codeOf, statusOf } from './s3-errors.ts';
import { type BucketSettings, createRequests, type S3Limits, timeoutError } from './s3-requests.ts';
import { beginUpload, putObject } from './s3-upload.ts';

export function openBucket(settings: BucketSettings, limits: Partial<S3Limits> = {}): CheckedStorage {
  const requests = createRequests(settings, limits);
  const { client, bucket, keyOf, lockDays, failure, send } = requests;
  const { partBytes, pageSize, stallMs } = requests.limits;

  /** Some servers ignore a retention, so a bucket without Object Lock is found before the first object. */
  const findLock = async (signal?: AbortSignal): Promise<'enabled' | 'unknown'> => {
    const command = new GetObjectLockConfigurationCommand({ Bucket: bucket });
    const doing = 'reading its configuration of Object Lock';
    const found = await send(doing, signal, (options) =>
      client.send(command, options).then(
        ({ ObjectLockConfiguration }) => ObjectLockConfiguration?.ObjectLockEnabled ?? 'Disabled',
        (error) => {
          if (statusOf(error) === 403) return 'unknown';
          throw error;
        },
      ),
    );
    if (found === 'Disabled') throw failure(doing, new Error('no Object Lock'));
    return found === 'unknown' ? 'unknown' : 'enabled';
  };
  let lockFound = lockDays === undefined;

  /** By listing, because an error then comes with its reason. Some servers ignore `If-None-Match`. */
  const exists = async (name: string, signal?: AbortSignal): Promise<boolean> => {
    const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: keyOf(name), MaxKeys: 1 });
    const { Contents } = await send(`looking for ${name}`, signal, (options) =>
      client.send(command, options),
    );
    return Contents?.[0]?.Key === keyOf(name);
  };

  const create: CheckedStorage['create'] = async (name, content, { contentType, signal }) => {
    checkName(name);
    signal?.throwIfAborted();
    const object = { name, contentType, signal };
    let upload: Awaited<ReturnType<typeof beginUpload>> | undefined;
    let result: 'created' | 'exists' | undefined;
    try {
      for await (const { body, isLast } of inParts(content, partBytes)) {
        if (!upload) {
          if (await exists(name, signal)) return 'exists';
          if (!lockFound) await findLock(signal);
          lockFound = true;
          if (isLast) return await putObject(requests, object, body);
          upload = await beginUpload(requests, object);
        }
        await upload.add(body);
      }
      result = await upload?.complete();
      return result ?? 'exists';
    } finally {
      if (result !== 'created') await upload?.abort().catch(() => {});
    }
  };

  const read: CheckedStorage['read'] = async (name, signal) => {
    checkName(name);
    const doing = `reading ${name}`;
    const command = new GetObjectCommand({ Bucket: bucket, Key: keyOf(name) });
    const found = await send(doing, signal, (options) =>
      client.send(command, options).catch((error) => {
        if (codeOf(error) === 'NoSuchKey') return undefined;
        throw error;
      }),
    );
    if (!found) return undefined;
    const body = found.Body as Readable;
    const bytes = found.ContentLength;
    if (bytes === undefined) {
      body.destroy();
      throw failure(doing, new Error('the server does not say how long it is'));
    }
    const timer = createStallTimer(stallMs, { failure: () => timeoutError(stallMs), signal });
    const pieces = async function* () {
      try {
        yield* timer.whileAwaited<Uint8Array>(body);
      } catch (error) {
        signal?.throwIfAborted();
        throw failure(doing, error);
      } finally {
        body.destroy();
      }
    };
    return { bytes, content: pieces() };
  };

  async function* list(prefix: string, signal?: AbortSignal) {
    checkPrefix(prefix);
    const page = { Bucket: bucket, Prefix: keyOf(prefix), MaxKeys: pageSize };
    let ContinuationToken: string | undefined;
    do {
      const command = new ListObjectsV2Command({ ...page, ...(ContinuationToken && { ContinuationToken }) });
      const { Contents, NextContinuationToken, IsTruncated } = await send('listing', signal, (options) =>
        client.send(command, options),
      );
      for (const { Key = '', Size = 0 } of Contents ?? []) {
        const name = Key.slice(keyOf('').length);
        if (isName(name)) yield { name, bytes: Size };
      }
      ContinuationToken = IsTruncated ? NextContinuationToken : undefined;
    } while (ContinuationToken);
  }

  return {
    location: requests.location,
    create,
    read,
    list,
    async check(signal) {
      const name = 'countersign-doctor';
      for await (const _ of list('', signal)) break;
      for await (const _ of (await read(name, signal))?.content ?? []) break;
      const upload = await beginUpload(requests, { name, contentType: 'text/plain', signal });
      await upload.abort();
      const lock = lockDays === undefined ? undefined : await findLock(signal);
      return [
        'listed',
        'looked for an object',
        'began an upload and ended it without an object',
        ...(lock === 'enabled' ? ['the bucket has Object Lock'] : []),
        ...(lock === 'unknown'
          ? ['not known whether the bucket has Object Lock, which needs s3:GetBucketObjectLockConfiguration']
          : []),
      ];
    },
    async close() {
      client.destroy();
    },
  };
}

/** At least one. Only the last may be smaller than `size`. */
async function* inParts(
  content: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<{ body: Uint8Array; isLast: boolean }> {
  let pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of content) {
    pieces.push(piece);
    bytes += piece.length;
    while (bytes > size) {
      const all = Buffer.concat(pieces, bytes);
      yield { body: all.subarray(0, size), isLast: false };
      pieces = [all.subarray(size)];
      bytes -= size;
    }
  }
  yield { body: Buffer.concat(pieces, bytes), isLast: true };
}
