/**
 * The calls of `apply` and `export`. They carry the User-Agent that the audit log records, follow all pages, and pause before the
 * rate limit is used up.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { readJson } from '../../../../sdk/typescript/src/response.ts';
import { CommandError } from '../../command-error.ts';
import type { Io } from '../../io.ts';
import { printError } from '../../terminal.ts';
import { ApiError, type Connection } from '../connection.ts';

export interface ApplyApi {
  readonly url: string;
  get<T>(path: string): Promise<T>;
  /** Undefined when there is no such thing. */
  find<T>(path: string): Promise<T | undefined>;
  page<T>(path: string, query?: Query): Promise<Page<T>>;
  /** All pages. Several at once: one after another, as the SDK reads them, takes too long for a large instance. */
  list<T>(path: string, query?: Query): Promise<T[]>;
  send<T>(method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<T>;
  /** Creates once, also when the request is sent again after a 503. */
  create<T>(path: string, body: unknown): Promise<T>;
}

type Query = Readonly<Record<string, unknown>>;

export interface Page<T> {
  readonly data: readonly T[];
  readonly total: number;
}

export const pageSize = 100;
/** Requests at once. */
export const concurrency = 6;
const progressEveryMs = 3_000;

export function createApi(
  io: Io,
  connection: Connection,
  { userAgent, run }: { userAgent: string; run: string },
): ApplyApi {
  const pause = createPause(io);
  let created = 0;

  const request = async <T>(
    method: string,
    path: string,
    options: { query?: Query; body?: unknown; headers?: Readonly<Record<string, string>> } = {},
  ): Promise<T> => {
    await pause.wait();
    const headers = { 'user-agent': userAgent, ...options.headers };
    return connection.read(method, path, { ...options, headers }, (response) => {
      pause.note(response.headers);
      return readJson(response) as Promise<T>;
    });
  };

  return {
    ...readingApi(
      connection.url,
      (path, query) => request('GET', path, { ...(query && { query }) }),
      (what, total) => createProgress(io, what, total),
    ),
    send: (method, path, body) => request(method, path, { body }),
    create: (path, body) => {
      created += 1;
      return request('POST', path, { body, headers: { 'idempotency-key': `apply-${run}-${created}` } });
    },
  };
}

/** What a plan needs: it reads, and changes nothing. */
export function readingApi(
  url: string,
  read: <T>(path: string, query?: Query) => Promise<T>,
  progressOf: (what: string, total: number) => () => void = () => () => {},
): Pick<ApplyApi, 'url' | 'get' | 'find' | 'page' | 'list'> {
  const page = async <T>(path: string, query: Query = {}) => {
    const answer = await read<Page<T>>(path, { limit: pageSize, ...query });
    if (!Array.isArray(answer?.data) || !Number.isSafeInteger(answer.total)) throw notCountersign(url);
    return answer;
  };
  return {
    url,
    page,
    get: (path) => read(path),
    find: async <T>(path: string) => {
      try {
        return await read<T>(path);
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return undefined;
        throw error;
      }
    },
    async list<T>(path: string, query: Query = {}) {
      const first = await page<T>(path, query);
      const rest = Math.max(0, Math.ceil(first.total / pageSize) - 1);
      const progress = progressOf(`pages of ${path} read`, rest + 1);
      const pages = await inParallel(
        Array.from({ length: rest }, (_, index) => index + 2),
        async (number) => {
          const { data } = await page<T>(path, { ...query, page: number });
          progress();
          return data;
        },
      );
      return [first.data, ...pages].flat();
    },
  };
}

export const notCountersign = (url: string): CommandError =>
  new CommandError(`${url} does not answer as Countersign does; is it the right address?`);

/** All requests wait until the rate window ends, when the requests that are under way may use it up. */
function createPause(io: Io) {
  let until = 0;
  return {
    async wait(): Promise<void> {
      for (let left = until - Date.now(); left > 0; left = until - Date.now()) await delay(left);
    },
    note(headers: Headers): void {
      const remaining = Number(headers.get('x-ratelimit-remaining') ?? Number.POSITIVE_INFINITY);
      const reset = Number(headers.get('x-ratelimit-reset')) * 1_000;
      if (!(remaining <= concurrency) || !(reset > 0)) return;
      // By the server's clock, which may differ from ours.
      const now = Date.parse(headers.get('date') ?? '') || Date.now();
      const seconds = Math.min(65, Math.max(1, Math.ceil((reset - now) / 1_000) + 1));
      if (Date.now() + 2_000 < until) return;
      until = Date.now() + seconds * 1_000;
      printError(io, `the rate limit of the server is almost used up; going on in ${seconds} s`);
    },
  };
}

/** Runs the work for all items, some at once. After the first failure it starts no more, and throws when all have ended. */
export async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  let failure: { error: unknown } | undefined;
  const worker = async () => {
    while (next < items.length && !failure) {
      const index = next;
      next += 1;
      try {
        results[index] = await work(items[index] as T);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  if (failure) throw failure.error;
  return results;
}

/** A line every few seconds. */
export function createProgress(io: Io, what: string, total: number): () => void {
  let done = 0;
  let printed = Date.now();
  return () => {
    done += 1;
    if (Date.now() - printed < progressEveryMs) return;
    printed = Date.now();
    printError(io, `${done} of ${total} ${what}`);
  };
}
