/**
 * Objects in a bucket. `If-None-Match: *` keeps an object from being replaced. One that is larger than a part is uploaded in parts, of
 * which one is in memory.
 */
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  GetObjectLockConfigurationCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { ObjectStorageError } from '../../kernel/ports/object-storage.ts';
import { checkName, checkPrefix, isName } from './names.ts';
import type { CheckedStorage } from './open.ts';
import { codeOf, statusOf, storageError } from './s3-errors.ts';

export interface Bucket {
  readonly bucket: string;
  readonly prefix: string;
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  readonly lockDays?: number | undefined;
}

export interface S3Limits {
  readonly partBytes: number;
  readonly pageSize: number;
  readonly connectionMs: number;
  /** One attempt, up to the header of the response. */
  readonly requestMs: number;
  /** All attempts of one request. */
  readonly operationMs: number;
  /** Without data, while an object is read. */
  readonly stallMs: number;
}

/** The protocol allows 10,000 parts, so objects up to 160 GB. */
const maxParts = 10_000;
const defaults: S3Limits = {
  partBytes: 16 * 1024 ** 2,
  pageSize: 1_000,
  connectionMs: 5_000,
  requestMs: 60_000,
  operationMs: 150_000,
  stallMs: 30_000,
};

type Content = AsyncIterable<Uint8Array>;

export function openBucket(settings: Bucket, limits: Partial<S3Limits> = {}): CheckedStorage {
  const { bucket: Bucket, prefix, endpoint, lockDays } = settings;
  const { partBytes, pageSize, connectionMs, requestMs, operationMs, stallMs } = { ...defaults, ...limits };
  // Region names mean nothing to most other servers, but the signature needs one.
  const region = settings.region ?? (endpoint && !process.env.AWS_REGION ? 'us-east-1' : undefined);
  const client = new S3Client({
    ...(region !== undefined && { region }),
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    maxAttempts: 3,
    requestHandler: {
      connectionTimeout: connectionMs,
      requestTimeout: requestMs,
      throwOnRequestTimeout: true,
      // Only while data is awaited, below: a reader may be slow.
      socketTimeout: 0,
    },
    // Other servers refuse the newer checksums; all know Content-MD5, and the signature covers the content's SHA-256.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    expectContinueHeader: false,
  });
  const root = prefix === '' ? '' : `${prefix}/`;
  const location = `s3://${Bucket}${prefix === '' ? '' : `/${prefix}`}${endpoint === undefined ? '' : ` at ${new URL(endpoint).host}`}`;

  const failure = (doing: string, error: unknown) =>
    storageError(`${location}: ${doing} failed`, error, lockDays !== undefined);

  /** A limit of our own, because the SDK has none for finding credentials. */
  const send = async <T>(
    doing: string,
    signal: AbortSignal | undefined,
    request: (options: { abortSignal: AbortSignal }) => Promise<T>,
  ): Promise<T> => {
    signal?.throwIfAborted();
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), operationMs);
    const abortSignal = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
    const done = new AbortController();
    const aborted = new Promise<never>((_, reject) => {
      abortSignal.addEventListener('abort', () => reject(abortSignal.reason), { signal: done.signal });
    });
    try {
      return await Promise.race([request({ abortSignal }), aborted]);
    } catch (error) {
      signal?.throwIfAborted();
      const cause = late.signal.aborted ? timeoutError(`no answer within ${operationMs} ms`) : error;
      throw failure(doing, cause);
    } finally {
      clearTimeout(timer);
      done.abort();
    }
  };

  const retention = () =>
    lockDays === undefined
      ? {}
      : {
          ObjectLockMode: 'COMPLIANCE' as const,
          ObjectLockRetainUntilDate: new Date(Date.now() + lockDays * 86_400_000),
        };

  /** Some servers ignore a retention, so a bucket without Object Lock is found before the first object. */
  const findLock = async (signal?: AbortSignal): Promise<'enabled' | 'unknown'> => {
    const command = new GetObjectLockConfigurationCommand({ Bucket });
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
    const list = new ListObjectsV2Command({ Bucket, Prefix: root + name, MaxKeys: 1 });
    const { Contents } = await send(`looking for ${name}`, signal, (options) => client.send(list, options));
    return Contents?.[0]?.Key === root + name;
  };

  const put = (name: string, Body: Uint8Array, ContentType: string, signal?: AbortSignal) => {
    const command = new PutObjectCommand({
      Bucket,
      Key: root + name,
      Body,
      ContentType,
      ContentMD5: md5(Body),
      IfNoneMatch: '*',
      ...retention(),
    });
    return send(`writing ${name}`, signal, (options) =>
      client.send(command, options).then(() => 'created' as const, whenExists),
    );
  };

  const upload = (name: string, ContentType: string, signal?: AbortSignal) => {
    const Key = root + name;
    const doing = `writing ${name}`;
    const parts: { PartNumber: number; ETag: string | undefined }[] = [];
    let UploadId: string | undefined;
    return {
      async begin() {
        const command = new CreateMultipartUploadCommand({ Bucket, Key, ContentType, ...retention() });
        ({ UploadId } = await send(doing, signal, (options) => client.send(command, options)));
      },
      async add(Body: Uint8Array) {
        const PartNumber = parts.length + 1;
        if (PartNumber > maxParts)
          throw new ObjectStorageError(`${location}: ${doing} failed: it is larger than ${maxParts} parts`);
        const part = { Bucket, Key, UploadId, PartNumber, Body, ContentMD5: md5(Body) };
        const { ETag } = await send(doing, signal, (options) =>
          client.send(new UploadPartCommand(part), options),
        );
        parts.push({ PartNumber, ETag });
      },
      complete() {
        const MultipartUpload = { Parts: parts };
        const command = new CompleteMultipartUploadCommand({
          Bucket,
          Key,
          UploadId,
          MultipartUpload,
          IfNoneMatch: '*',
        });
        return send(doing, signal, (options) =>
          client.send(command, options).then(() => 'created' as const, whenExists),
        );
      },
      /** Also after `signal`. Without it the parts that are there would stay, and cost. */
      async abort() {
        if (UploadId === undefined) return;
        const command = new AbortMultipartUploadCommand({ Bucket, Key, UploadId });
        await send(`ending the upload of ${name}`, undefined, (options) => client.send(command, options));
      },
    };
  };

  const create: CheckedStorage['create'] = async (name, content, { contentType, signal }) => {
    checkName(name);
    signal?.throwIfAborted();
    const inParts = upload(name, contentType, signal);
    let begun = false;
    let result: 'created' | 'exists' | undefined;
    try {
      for await (const { body, isLast } of parts(content, partBytes)) {
        if (!begun) {
          if (await exists(name, signal)) return 'exists';
          if (!lockFound) await findLock(signal);
          lockFound = true;
        }
        if (!begun && isLast) return await put(name, body, contentType, signal);
        if (!begun) await inParts.begin();
        begun = true;
        await inParts.add(body);
      }
      result = await inParts.complete();
      return result;
    } finally {
      if (begun && result !== 'created') await inParts.abort().catch(() => {});
    }
  };

  const read: CheckedStorage['read'] = async (name, signal) => {
    checkName(name);
    const doing = `reading ${name}`;
    const command = new GetObjectCommand({ Bucket, Key: root + name });
    const found = await send(doing, signal, (options) =>
      client.send(command, options).catch((error) => {
        if (codeOf(error) === 'NoSuchKey') return undefined;
        throw error;
      }),
    );
    if (!found) return undefined;
    const body = found.Body as Readable;
    const bytes = found.ContentLength ?? 0;
    const pieces = async function* () {
      try {
        yield* unlessStalled(body, bytes, stallMs);
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
    let ContinuationToken: string | undefined;
    do {
      const page = {
        Bucket,
        Prefix: root + prefix,
        MaxKeys: pageSize,
        ...(ContinuationToken && { ContinuationToken }),
      };
      const { Contents, NextContinuationToken, IsTruncated } = await send('listing', signal, (options) =>
        client.send(new ListObjectsV2Command(page), options),
      );
      for (const { Key = '', Size = 0 } of Contents ?? []) {
        const name = Key.slice(root.length);
        if (isName(name)) yield { name, bytes: Size };
      }
      ContinuationToken = IsTruncated ? NextContinuationToken : undefined;
    } while (ContinuationToken);
  }

  return {
    location,
    create,
    read,
    list,
    async check(signal) {
      const name = 'countersign-doctor';
      for await (const _ of list('', signal)) break;
      for await (const _ of (await read(name, signal))?.content ?? []) break;
      const inParts = upload(name, 'text/plain', signal);
      await inParts.begin();
      await inParts.abort();
      const lock = lockDays === undefined ? undefined : await findLock(signal);
      return [
        'listed',
        'looked for an object',
        'began an upload and ended it without an object',
        ...(lock === undefined ? [] : [`Object Lock for ${lockDays} days: ${lock}`]),
      ];
    },
    async close() {
      client.destroy();
    },
  };
}

/** At least one. Only the last may be smaller than `size`. */
async function* parts(content: Content, size: number): AsyncGenerator<{ body: Uint8Array; isLast: boolean }> {
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

async function* unlessStalled(body: Readable, bytes: number, stallMs: number): AsyncGenerator<Uint8Array> {
  const iterator = body[Symbol.asyncIterator]();
  let received = 0;
  for (;;) {
    const timer = setTimeout(() => body.destroy(timeoutError(`no data within ${stallMs} ms`)), stallMs);
    const { done, value } = await iterator.next().finally(() => clearTimeout(timer));
    if (done) break;
    received += value.length;
    yield value;
  }
  if (received !== bytes) throw new Error(`${received} of ${bytes} bytes arrived`);
}

const md5 = (bytes: Uint8Array) => createHash('md5').update(bytes).digest('base64');

/** A repeated request may find the object of its first attempt; after that the upload does not exist any more. */
function whenExists(error: unknown): 'exists' {
  if (statusOf(error) === 412 || codeOf(error) === 'PreconditionFailed') return 'exists';
  throw error;
}

const timeoutError = (message: string) => Object.assign(new Error(message), { name: 'TimeoutError' });
