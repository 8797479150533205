import { type ArchiveSettings, archivePlace } from '../../kernel/config/archive.ts';
import type { ObjectStorage } from '../../kernel/ports/object-storage.ts';

export interface CheckedStorage extends ObjectStorage {
  /**
   * Whether it can be listed, read and written, without leaving an object. Returns what was done; rejects with an ObjectStorageError for
   * the first failure.
   */
  check(signal?: AbortSignal): Promise<readonly string[]>;
}

/** The SDK of S3 is only loaded when there is a bucket. */
export async function openObjectStorage(settings: ArchiveSettings): Promise<CheckedStorage> {
  const place = archivePlace(settings.url);
  if (place.kind === 'folder') return (await import('./file.ts')).openFolder(place.folder);
  return (await import('./s3.ts')).openBucket({ ...settings, ...place });
}
