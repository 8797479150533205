/** Errors of the SDK and of S3 servers, as messages for operators. The SDK's own may contain requests with their signatures. */
import { ObjectStorageError } from '../../kernel/ports/object-storage.ts';

interface S3Error extends Error {
  readonly code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

export const statusOf = (error: unknown): number => (error as S3Error).$metadata?.httpStatusCode ?? 0;

/** Of the server, such as AccessDenied, or of the network, such as ECONNREFUSED. */
export function codeOf(error: unknown): string {
  const { name, code = '' } = error as S3Error;
  return ['Error', 'TypeError', 'AggregateError', 'Unknown', 'UnknownError'].includes(name) ? code : name;
}

/** Compared with `code status message`. */
const remedies: readonly (readonly [RegExp, string])[] = [
  [
    /^CredentialsProviderError|credential object is not valid/,
    'there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give the container or machine a role',
  ],
  [
    /^(InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken|InvalidIdentityToken|InvalidClientTokenId)/,
    'the credentials are refused: correct or renew AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the role',
  ],
  [/^RequestTimeTooSkewed/, 'the clocks differ: synchronize this machine with NTP'],
  [/^NoSuchBucket/, 'there is no such bucket: create it, or correct AUDIT_ARCHIVE_URL'],
  [/object ?lock/i, 'the bucket has no Object Lock: make one that has, or remove AUDIT_ARCHIVE_LOCK_DAYS'],
  [/^(\S*Quota\S*|\S*StorageFull|\S* 507)|no space left/i, 'the storage is full: enlarge it'],
  [
    /^(AccessDenied|\S* 403)/,
    'the credentials lack a right: they need s3:ListBucket on the bucket, s3:GetObject, s3:PutObject and s3:AbortMultipartUpload on its objects, and s3:PutObjectRetention with AUDIT_ARCHIVE_LOCK_DAYS',
  ],
  [/Region is missing/, 'the region is not known: set AUDIT_ARCHIVE_REGION or AWS_REGION'],
  [
    /^(PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraint|\S* 30[17])/,
    'the bucket is in another region: set AUDIT_ARCHIVE_REGION to its region',
  ],
  [
    /^\S* 501/,
    'the server does not know what the archive needs: conditional writes (If-None-Match), multipart uploads, and Object Lock with AUDIT_ARCHIVE_LOCK_DAYS',
  ],
  [/^ConditionalRequestConflict/, 'another process wrote the same object at that time'],
  [
    /^(BadDigest|InvalidDigest|XAmzContentSHA256Mismatch)/,
    'the content was changed on the way to the server',
  ],
  [/^(TimeoutError|RequestTimeout|ETIMEDOUT)/, 'no answer in time: check the storage and the network'],
  [
    /^(ECONN\w+|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EPIPE)/,
    'the server cannot be reached: check AUDIT_ARCHIVE_ENDPOINT, the network, and that the server runs',
  ],
  [
    /CERT|certificate/,
    'its certificate is not trusted: name the certificate authority in NODE_EXTRA_CA_CERTS',
  ],
  [/^(SlowDown|\S* 5\d\d)/, 'the server fails or is overloaded: check it'],
];

/** `locks`: with a retention, servers refuse a bucket without Object Lock as an invalid request, some without the reason. */
export function storageError(message: string, error: unknown, locks: boolean): ObjectStorageError {
  const code = codeOf(error);
  const status = statusOf(error) || '';
  const text = locks && code === 'InvalidRequest' ? 'no Object Lock' : (error as Error).message;
  const [, remedy] = remedies.find(([pattern]) => pattern.test(`${code} ${status} ${text}`)) ?? [];
  const source = [code, status].filter(Boolean).join(', ');
  return new ObjectStorageError(
    `${message}: ${remedy ?? shortened(text || 'unknown error')}${source && ` (${source})`}`,
  );
}

const shortened = (text: string) => text.replaceAll(/\?\S+/g, '').replaceAll(/\s+/g, ' ').slice(0, 200);
