/** The addresses in AUDIT_ARCHIVE_*. Their error messages are printed after the variable's name. */
import { fileURLToPath } from 'node:url';

/** Where the audit archive is. */
export interface ArchiveSettings {
  readonly url: string;
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  /** For how many days objects cannot be deleted. */
  readonly lockDays?: number | undefined;
}

export type ArchivePlace =
  | { readonly kind: 'folder'; readonly folder: string }
  | { readonly kind: 'bucket'; readonly bucket: string; readonly prefix: string };

const forms = 'must be s3://bucket/prefix or file:///folder';

/** The messages do not repeat the value, because it may hold credentials by mistake. */
export function archivePlace(url: string): ArchivePlace {
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is.exec(url) ?? [];
  if (/[?#]/.test(rest)) throw new Error(`${forms}, without a query or a fragment`);
  if (/(^|\/|\\)(\.|%2e){1,2}(\/|\\|$)/i.test(rest))
    throw new Error(`${forms}, without "." and ".." in the path`);
  if (/^file:/i.test(url)) return folderPlace(url, rest);
  if (scheme.toLowerCase() === 's3') return bucketPlace(rest);
  throw new Error(forms);
}

function folderPlace(url: string, path: string): ArchivePlace {
  if (!path.startsWith('/'))
    throw new Error('must name a folder from the root, with three slashes: file:///folder');
  let folder: string;
  try {
    folder = fileURLToPath(url);
  } catch {
    throw new Error('must be file:/// and the path of a folder');
  }
  if (folder === '/') throw new Error('must name a folder, not the root: file:///folder');
  return { kind: 'folder', folder };
}

function bucketPlace(rest: string): ArchivePlace {
  if (rest.includes('@'))
    throw new Error(
      `${forms}, without credentials: they come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or the role of the machine`,
    );
  const [bucket = '', ...segments] = rest.split('/');
  if (bucket === '') throw new Error('names no bucket: s3://bucket/prefix');
  if (!/^[a-z0-9][\w.-]{1,253}[a-z0-9]$/i.test(bucket))
    throw new Error(
      'must name a bucket with letters, digits, dots, - and _, without a port: s3://bucket/prefix',
    );
  if (segments.at(-1) === '') segments.pop();
  const prefix = segments.join('/');
  if (!segments.every((segment) => /^[\w.=-]+$/.test(segment)) || prefix.length > 500)
    throw new Error(
      'must have a prefix of at most 500 letters, digits, dots, -, _ and =, with single slashes between: s3://bucket/prefix',
    );
  return { kind: 'bucket', bucket, prefix };
}

export function archiveUrl(value: string): string {
  archivePlace(value);
  return value;
}

/** Some servers have their S3 API below a path. */
export function archiveEndpoint(value: string): string {
  const url = URL.parse(value);
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new Error('must be the http or https address of an S3 server');
  if (url.username || url.password || url.search || url.hash)
    throw new Error('must be scheme, host, port and path only, without credentials, query and fragment');
  return value.replace(/\/+$/, '');
}

export function archiveRegion(value: string): string {
  if (!/^[\w-]{1,63}$/.test(value)) throw new Error('must be the name of a region, such as eu-central-1');
  return value;
}
