/** The objects of the archive, with a time limit for each step of the storage and for work that ignores the abort of a step. */
import { createStallTimer, type StallTimer } from '../../../kernel/concurrency/stall-timer.ts';
import { DamagedFile } from '../../../kernel/ports/compression.ts';
import { type ObjectStorage, ObjectStorageError } from '../../../kernel/ports/object-storage.ts';
import { ArchiveFault } from './fault.ts';

export interface Objects {
  create(
    name: string,
    content: AsyncIterable<Uint8Array>,
    options: { readonly contentType: string; readonly signal: AbortSignal | undefined },
  ): Promise<'created' | 'exists'>;
  /** Its size and content; undefined when there is no such object. */
  open(
    name: string,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly bytes: number; readonly content: AsyncIterable<Uint8Array> } | undefined>;
  /** The fault when an object is not what belongs there. */
  wrong(name: string, problem: string): ArchiveFault;
  /** `wrong` for a file that cannot be decompressed; any other error as it is. */
  rethrowDamage(name: string): (error: unknown) => never;
}

export function createObjects(storage: ObjectStorage, stallMs: number): Objects {
  const placeOf = (name: string) => `${storage.location}/${name}`;

  const timerFor = (name: string, signal: AbortSignal | undefined) =>
    createStallTimer(stallMs, {
      signal,
      failure: () =>
        new ObjectStorageError(
          `${placeOf(name)}: the storage has not answered for ${stallMs / 1_000} seconds`,
        ),
    });

  const wrong: Objects['wrong'] = (name, problem) =>
    new ArchiveFault(
      'content',
      `${placeOf(name)} is not what belongs there: ${problem}. Keep it as evidence, and move it away: the day is then archived again`,
    );

  return {
    wrong,
    async create(name, content, { contentType, signal }) {
      const timer = timerFor(name, signal);
      timer.start();
      return timer.race(storage.create(name, timed(content, timer), { contentType, signal: timer.signal }));
    },
    async open(name, signal) {
      const timer = timerFor(name, signal);
      timer.start();
      const object = await timer.race(storage.read(name, timer.signal));
      return object && { bytes: object.bytes, content: timer.whileAwaited(object.content) };
    },
    rethrowDamage: (name) => (error) => {
      throw error instanceof DamagedFile ? wrong(name, error.message) : error;
    },
  };
}

/** The time counts while the storage has a chunk, and after the last one. */
async function* timed(
  content: AsyncIterable<Uint8Array>,
  timer: StallTimer,
): AsyncGenerator<Uint8Array, void> {
  timer.pause();
  for await (const chunk of content) {
    timer.start();
    yield chunk;
    timer.pause();
  }
  timer.start();
}
