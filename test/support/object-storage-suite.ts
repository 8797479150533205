/** What every adapter of the port ObjectStorage must do. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { CheckedStorage } from '../../src/adapters/object-storage/open.ts';
import { ObjectStorageError } from '../../src/kernel/ports/object-storage.ts';

export interface StorageUnderTest {
  /** Empty. For S3 with parts of 5 MiB and pages of 3 names. */
  readonly storage: CheckedStorage;
  /** How many writes have left something behind. */
  unfinished(): Promise<number>;
}

export const megabyte = 1024 ** 2;
export const text = { contentType: 'text/plain' };

export async function* pieces(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const each of texts) yield Buffer.from(each);
}

/** Several parts when it has more than five. */
export async function* megabytes(count: number, fill = 1): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index++) yield Buffer.alloc(megabyte, fill);
}

async function* thenThrow(content: AsyncIterable<Uint8Array>, error: Error): AsyncGenerator<Uint8Array> {
  yield* content;
  throw error;
}

export async function readAll(storage: CheckedStorage, name: string): Promise<Buffer | undefined> {
  const found = await storage.read(name);
  if (!found) return undefined;
  const all: Uint8Array[] = [];
  for await (const piece of found.content) all.push(piece);
  const content = Buffer.concat(all);
  assert.equal(content.length, found.bytes);
  return content;
}

export async function namesOf(storage: CheckedStorage, prefix = ''): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of storage.list(prefix)) names.push(name);
  return names;
}

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** Of buffers that are still reachable. */
function usedMemory(): number {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

export async function conform(t: TestContext, open: (name: string) => Promise<StorageUnderTest>) {
  const on = (title: string, work: (subject: StorageUnderTest) => Promise<void>) =>
    t.test(title, async () => {
      const subject = await open(title.replaceAll(/\W+/g, '-').toLowerCase().slice(0, 60));
      await work(subject);
      assert.equal(await subject.unfinished(), 0);
    });

  await on('an object is read as it was written, and not replaced', async ({ storage }) => {
    assert.equal(await storage.create('org/2026/01/31.txt', pieces('one, ', 'two'), text), 'created');
    assert.equal(await storage.create('org/2026/01/31.txt', pieces('other'), text), 'exists');
    assert.equal(String(await readAll(storage, 'org/2026/01/31.txt')), 'one, two');
    assert.equal(await storage.create('empty', pieces(), text), 'created');
    assert.equal((await readAll(storage, 'empty'))?.length, 0);
  });

  for (const [title, count] of [
    ['small objects', 0],
    ['objects in parts', 6],
  ] as const)
    await on(`one of 20 concurrent writes creates: ${title}`, async ({ storage }) => {
      const results = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const content =
            count === 0 ? pieces(String.fromCharCode(65 + index)) : megabytes(count, 65 + index);
          return storage.create('race/object', content, text);
        }),
      );
      assert.deepEqual(results.toSorted(), ['created', ...Array(19).fill('exists')]);
      const content = await readAll(storage, 'race/object');
      assert.equal(content?.length, count === 0 ? 1 : count * megabyte);
      // All of it is that of the one.
      assert.ok(content?.every((byte) => byte === 65 + results.indexOf('created')));
    });

  await on('a content that throws leaves nothing', async ({ storage }) => {
    const error = new Error('the database is gone');
    for (const content of [thenThrow(pieces('one'), error), thenThrow(megabytes(12), error)]) {
      await assert.rejects(storage.create('half/object', content, text), (thrown) => thrown === error);
      assert.equal(await storage.read('half/object'), undefined);
      assert.deepEqual(await namesOf(storage), []);
    }
    assert.equal(await storage.create('half/object', pieces('whole'), text), 'created');
    assert.equal(String(await readAll(storage, 'half/object')), 'whole');
  });

  await on('a missing object is undefined', async ({ storage }) => {
    assert.equal(await storage.read('nothing'), undefined);
    await storage.create('folder/object', pieces('x'), text);
    for (const name of ['folder', 'folder/objec', 'folder/object/below', 'folder/object2'])
      assert.equal(await storage.read(name), undefined, name);
  });

  await on(
    'names are listed in the order of their bytes, from a prefix that may end anywhere',
    async ({ storage }) => {
      const names = ['a-b/1', 'a.txt', 'a/1', 'a/10', 'a/2/3', 'a0', 'ab/1', 'b'];
      for (const name of names.toReversed()) await storage.create(name, pieces(name), text);
      assert.deepEqual(await namesOf(storage), names);
      assert.deepEqual(await namesOf(storage, 'a/'), ['a/1', 'a/10', 'a/2/3']);
      assert.deepEqual(await namesOf(storage, 'a/1'), ['a/1', 'a/10']);
      assert.deepEqual(await namesOf(storage, 'a/2'), ['a/2/3']);
      assert.deepEqual(await namesOf(storage, 'a'), names.slice(0, -1));
      for (const prefix of ['c', 'c/', 'a/1/', 'a/3', 'b/'])
        assert.deepEqual(await namesOf(storage, prefix), [], prefix);
      for await (const { name, bytes } of storage.list('')) assert.equal(bytes, name.length);
    },
  );

  await on('an object of many parts takes the memory of a few', async ({ storage }) => {
    const before = usedMemory();
    let peak = 0;
    async function* measured() {
      for (let count = 0; count < 64; count += 4) {
        yield* megabytes(4);
        peak = Math.max(peak, usedMemory());
      }
    }
    assert.equal(await storage.create('large', measured(), text), 'created');
    const found = await storage.read('large');
    let bytes = 0;
    for await (const piece of found?.content ?? []) {
      if (bytes % (8 * megabyte) < piece.length) peak = Math.max(peak, usedMemory());
      bytes += piece.length;
    }
    assert.equal(bytes, 64 * megabyte);
    assert.ok(peak - before < 24 * megabyte, `${Math.round((peak - before) / megabyte)} MB`);
  });

  await on('an abort ends each operation with its reason', async ({ storage }) => {
    const reason = new Error('the process is stopping');
    const isReason = (thrown: unknown) => thrown === reason;
    const aborted = AbortSignal.abort(reason);
    await assert.rejects(storage.create('object', pieces('x'), { ...text, signal: aborted }), isReason);
    await assert.rejects(storage.read('object', aborted), isReason);
    await assert.rejects(storage.list('', aborted)[Symbol.asyncIterator]().next(), isReason);

    const writing = new AbortController();
    async function* abortAfter(count: number) {
      yield* megabytes(count);
      writing.abort(reason);
      await turn();
      yield* megabytes(8);
    }
    const { signal } = writing;
    await assert.rejects(storage.create('object', abortAfter(7), { ...text, signal }), isReason);
    assert.equal(await storage.read('object'), undefined);

    await storage.create('object', megabytes(20), text);
    const reading = new AbortController();
    const found = await storage.read('object', reading.signal);
    await assert.rejects(async () => {
      for await (const _ of found?.content ?? []) reading.abort(reason);
    }, isReason);
  });

  await on('an object is read again after a reader that stopped early', async ({ storage }) => {
    await storage.create('object', megabytes(8), text);
    for await (const _ of (await storage.read('object'))?.content ?? []) break;
    assert.equal((await readAll(storage, 'object'))?.length, 8 * megabyte);
  });

  await on('names that could leave the archive are refused', async ({ storage }) => {
    const isRefused = (error: unknown) =>
      error instanceof ObjectStorageError && /cannot be the name of an object/.test(error.message);
    for (const name of [
      '',
      '/',
      '/a',
      'a/',
      'a//b',
      '.',
      '..',
      '../a',
      'a/../b',
      'a/.b',
      'a\\b',
      'a\0',
      'ä',
      'a?b',
    ]) {
      await assert.rejects(storage.create(name, pieces('x'), text), isRefused, name);
      await assert.rejects(storage.read(name), isRefused, name);
      if (name !== '' && name !== 'a/') await assert.rejects(namesOf(storage, name), isRefused, name);
    }
    assert.deepEqual(await namesOf(storage), []);
  });

  await on('a check writes, and leaves nothing', async ({ storage }) => {
    assert.ok((await storage.check()).length >= 2);
    assert.deepEqual(await namesOf(storage), []);
  });
}
