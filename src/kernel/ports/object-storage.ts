/** Where the audit archive is kept: a bucket or a folder. Objects are written once and never replaced. */

export interface ObjectStorage {
  /** Of all objects, for messages: without credentials. */
  readonly location: string;
  /**
   * Writes the object unless there is one with that name. It is durable when the promise resolves. A write that fails, or whose content throws,
   * leaves no object under the name. `exists`: the content may not have been read to its end. A request that was repeated may find the
   * object of its first attempt.
   */
  create(
    name: string,
    content: AsyncIterable<Uint8Array>,
    options: { readonly contentType: string; readonly signal?: AbortSignal | undefined },
  ): Promise<'created' | 'exists'>;
  /**
   * Its content in pieces, and its size in bytes; undefined when there is no such object. A content holds a connection until it is read,
   * at least its beginning, or `signal` is aborted.
   */
  read(
    name: string,
    signal?: AbortSignal,
  ): Promise<{ readonly bytes: number; readonly content: AsyncIterable<Uint8Array> } | undefined>;
  /** Names that begin with the prefix, in ascending order of their bytes. */
  list(
    prefix: string,
    signal?: AbortSignal,
  ): AsyncIterable<{ readonly name: string; readonly bytes: number }>;
  close(): Promise<void>;
}

/** The storage cannot be used now, or refuses: a message for operators, without credentials. */
export class ObjectStorageError extends Error {
  override readonly name = 'ObjectStorageError';
}
