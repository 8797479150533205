/** Spans of work that requests share or queue for, with a tracer that writes them down. */
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, beforeEach, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createBatcher } from '../concurrency/batcher.ts';
import { createFairQueue } from '../concurrency/fair-queue.ts';
import { type Span, setTracer, type Tracer } from './tracing.ts';

interface Written extends Span {
  readonly name: string;
  readonly parent: string | undefined;
  readonly links: string[];
  ended?: string;
}

const nameOf = (span: Span | undefined) => (span as Written | undefined)?.name;

let written: Written[] = [];
let current: () => string | undefined;
let inRequest: <T>(name: string, work: () => T) => T;

beforeEach(() => {
  written = [];
  const storage = new AsyncLocalStorage<Span | undefined>();
  const write = (name: string, parent: Span | undefined, links: readonly Span[] = []): Span => {
    const span: Written = {
      name,
      parent: nameOf(parent),
      links: links.map((link) => String((link as Written).parent)),
      ids: { trace_id: '', span_id: '' },
      isRecording: () => true,
      set: () => {},
      link: (other) => void span.links.push(String(nameOf(other))),
      end: (error) => {
        span.ended = error instanceof Error ? error.message : 'well';
      },
      headers: () => ({}),
    };
    written.push(span);
    return span;
  };
  const tracer: Tracer = {
    startChild: (name, { links } = {}, parent = storage.getStore()) => parent && write(name, parent, links),
    startRoot: (name) => write(name, undefined),
    current: () => storage.getStore(),
    run: (span, work) => storage.run(span, work),
  };
  current = () => nameOf(storage.getStore());
  inRequest = (name, work) => tracer.run(tracer.startRoot(name), work);
  setTracer(tracer);
});

afterEach(() => setTracer(undefined));

const find = (name: string) => written.filter((span) => span.name === name);

test('a batch is a child of its first request and linked with the others', async () => {
  const ranIn: (string | undefined)[] = [];
  const gate = Promise.withResolvers<void>();
  const add = createBatcher<string, string>({
    name: 'work',
    maxBatch: 10,
    concurrency: 1,
    maxQueue: 100,
    async run(items) {
      ranIn.push(current());
      if (items.includes('first')) await gate.promise;
      return items.map((item) => `${item} done`);
    },
  });
  const first = inRequest('request 1', () => add('first'));
  await nextTurn();
  // These wait for the batch in flight, which request 1 has started.
  const others = ['second', 'third'].map((item, index) => inRequest(`request ${index + 2}`, () => add(item)));
  const background = add('fourth');
  gate.resolve();
  assert.equal(await first, 'first done');
  assert.deepEqual(await Promise.all([...others, background]), ['second done', 'third done', 'fourth done']);

  assert.deepEqual(ranIn, ['batch work', 'batch work']);
  assert.deepEqual(
    find('batch.wait work').map(({ parent, links, ended }) => ({ parent, links, ended })),
    [
      { parent: 'request 1', links: [], ended: 'well' },
      { parent: 'request 2', links: [], ended: 'well' },
      { parent: 'request 3', links: ['batch work'], ended: 'well' },
    ],
  );
  assert.deepEqual(
    find('batch work').map(({ parent, links, ended }) => ({ parent, links, ended })),
    [
      { parent: 'batch.wait work', links: [], ended: 'well' },
      // The names of the requests that wait.
      { parent: 'batch.wait work', links: ['request 3'], ended: 'well' },
    ],
  );
});

test('a batch without a traced request has no span, though a traced one has started the batcher', async () => {
  const ranIn: (string | undefined)[] = [];
  const add = createBatcher<string, undefined>({
    name: 'work',
    maxBatch: 1,
    concurrency: 1,
    maxQueue: 100,
    async run() {
      ranIn.push(current());
      return [undefined];
    },
  });
  await Promise.all([inRequest('request', () => add('traced')), add('background')]);
  assert.deepEqual(ranIn, ['batch work', undefined]);
});

test('a failed batch ends the spans of its requests with the error', async () => {
  const add = createBatcher<string, undefined>({
    name: 'work',
    maxBatch: 1,
    concurrency: 1,
    maxQueue: 100,
    run: () => Promise.reject(new Error('no')),
  });
  await assert.rejects(inRequest('request', () => add('item')));
  assert.deepEqual([find('batch.wait work')[0]?.ended, find('batch work')[0]?.ended], ['no', 'no']);
});

test('a queued job runs under the span of its own request', async () => {
  const queue = createFairQueue({ concurrency: 1, maxQueue: 10 });
  const ranIn: (string | undefined)[] = [];
  const job = async () => {
    await nextTurn();
    ranIn.push(current());
  };
  await Promise.all(['a', 'b', 'c'].map((name) => inRequest(name, () => queue('key', job))));
  assert.deepEqual(ranIn, ['a', 'b', 'c']);
});
