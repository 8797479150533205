/** Requests to one bucket, each with time limits, and with errors for operators. */
import { S3Client } from '@aws-sdk/client-s3';
import { storageError } from './s3-errors.ts';

export interface BucketSettings {
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

const defaults: S3Limits = {
  partBytes: 16 * 1024 ** 2,
  pageSize: 1_000,
  connectionMs: 5_000,
  requestMs: 60_000,
  operationMs: 150_000,
  stallMs: 30_000,
};

export type Requests = ReturnType<typeof createRequests>;

export function createRequests(settings: BucketSettings, changes: Partial<S3Limits>) {
  const { bucket, prefix, endpoint, lockDays } = settings;
  const limits = { ...defaults, ...changes };
  const { connectionMs, requestMs, operationMs } = limits;
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
      // It would also count the time of a slow reader.
      socketTimeout: 0,
    },
    // Other servers refuse the newer checksums; all know Content-MD5, and the signature covers the content's SHA-256.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    expectContinueHeader: false,
  });
  const address = `s3://${bucket}${prefix && `/${prefix}`}`;
  const location = endpoint === undefined ? address : `${address} at ${new URL(endpoint).host}`;

  const failure = (doing: string, error: unknown) =>
    storageError(`${location}: ${doing} failed`, error, lockDays !== undefined);

  return {
    client,
    bucket,
    location,
    limits,
    lockDays,
    keyOf: (name: string) => (prefix === '' ? name : `${prefix}/${name}`),
    failure,
    /** With a limit of our own, because the SDK has none for finding credentials. */
    async send<T>(
      doing: string,
      signal: AbortSignal | undefined,
      request: (options: { abortSignal: AbortSignal }) => Promise<T>,
    ): Promise<T> {
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
        throw failure(doing, late.signal.aborted ? timeoutError(operationMs) : error);
      } finally {
        clearTimeout(timer);
        done.abort();
      }
    },
  };
}

export const timeoutError = (ms: number): Error =>
  Object.assign(new Error(`no answer within ${ms} ms`), { name: 'TimeoutError' });
