/** The upload of an object in parts. `If-None-Match: *` keeps an object from being replaced, here and in one request. */
import { createHash } from 'node:crypto';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { ObjectStorageError } from '../../kernel/ports/object-storage.ts';
import { codeOf, statusOf } from './s3-errors.ts';
import type { Requests } from './s3-requests.ts';

export interface NewObject {
  readonly name: string;
  readonly contentType: string;
  readonly signal: AbortSignal | undefined;
}

/** Of the protocol. */
const maxParts = 10_000;

export async function putObject(
  { client, bucket, keyOf, lockDays, send }: Requests,
  { name, contentType, signal }: NewObject,
  body: Uint8Array,
): Promise<'created' | 'exists'> {
  const command = new PutObjectCommand({
    Bucket: bucket,
    Key: keyOf(name),
    Body: body,
    ContentType: contentType,
    ContentMD5: md5(body),
    IfNoneMatch: '*',
    ...retention(lockDays),
  });
  return send(`writing ${name}`, signal, (options) =>
    client.send(command, options).then(() => 'created' as const, whenExists),
  );
}

export async function beginUpload(
  { client, bucket, keyOf, lockDays, location, send }: Requests,
  { name, contentType, signal }: NewObject,
) {
  const doing = `writing ${name}`;
  const object = { Bucket: bucket, Key: keyOf(name) };
  const { UploadId } = await send(doing, signal, (options) =>
    client.send(
      new CreateMultipartUploadCommand({ ...object, ContentType: contentType, ...retention(lockDays) }),
      options,
    ),
  );
  const upload = { ...object, UploadId };
  const parts: { PartNumber: number; ETag: string | undefined }[] = [];
  return {
    async add(body: Uint8Array): Promise<void> {
      const PartNumber = parts.length + 1;
      if (PartNumber > maxParts)
        throw new ObjectStorageError(
          `${location}: ${doing} failed: it has more than ${maxParts} parts of ${body.length} bytes`,
        );
      const command = new UploadPartCommand({ ...upload, PartNumber, Body: body, ContentMD5: md5(body) });
      const { ETag } = await send(doing, signal, (options) => client.send(command, options));
      parts.push({ PartNumber, ETag });
    },
    async complete(): Promise<'created' | 'exists'> {
      const command = new CompleteMultipartUploadCommand({
        ...upload,
        MultipartUpload: { Parts: parts },
        IfNoneMatch: '*',
      });
      return send(doing, signal, (options) =>
        client.send(command, options).then(() => 'created' as const, whenExists),
      );
    },
    /** Also after `signal` is aborted: the parts that are there would stay, and cost. */
    async abort(): Promise<void> {
      await send(`ending the upload of ${name}`, undefined, (options) =>
        client.send(new AbortMultipartUploadCommand(upload), options),
      );
    },
  };
}

const retention = (lockDays: number | undefined) =>
  lockDays === undefined
    ? {}
    : {
        ObjectLockMode: 'COMPLIANCE' as const,
        ObjectLockRetainUntilDate: new Date(Date.now() + lockDays * 86_400_000),
      };

const md5 = (bytes: Uint8Array) => createHash('md5').update(bytes).digest('base64');

function whenExists(error: unknown): 'exists' {
  if (statusOf(error) === 412 || codeOf(error) === 'PreconditionFailed') return 'exists';
  throw error;
}
