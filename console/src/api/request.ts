/**
 * The only place that calls fetch. It adds the CSRF header to the SDK's request loop, turns failures into ApiError with the request id, and
 * reports a lost session, a lost connection and the waits of the loop to listeners.
 */

import type { Part } from '../../../sdk/typescript/src/api.ts';
import { ConnectionError } from '../../../sdk/typescript/src/errors.ts';
import { sleep } from '../../../sdk/typescript/src/platform.ts';
import { createRequestLoop, isBusy } from '../../../sdk/typescript/src/request-loop.ts';
import { fillPath, initOf, withQuery } from '../../../sdk/typescript/src/request-rules.ts';
import { readJson, readRefusal } from '../../../sdk/typescript/src/response.ts';
import { ApiError } from './api-error.ts';
import { type OperationId, type Operations, operations } from './generated.ts';
import { retryAfterSecondsOf } from './retry.ts';

type Operation<Id extends OperationId> = Operations[Id];

/** The input of an operation: `params` (of the path), `query` and `body`, as far as it has them. */
export type Input<Id extends OperationId> = Part<'params', Operation<Id>['params']> &
  Part<'query', Operation<Id>['query']> &
  Part<'body', Operation<Id>['body']>;

/** The JSON of the answer. `callRaw` is for answers that are none. */
export type Output<Id extends OperationId> = Exclude<Operation<Id>['response'], Response>;

/** An input of any operation. */
export interface AnyInput {
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: unknown;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

type Listener = (event: RequestEvent) => void;
export type RequestEvent =
  | { readonly type: 'unauthorized' }
  /** The rate limit makes a request wait. */
  | { readonly type: 'waiting'; readonly seconds: number }
  /** The server is away, and a request will be repeated. */
  | { readonly type: 'retrying'; readonly milliseconds: number }
  | { readonly type: 'offline' }
  | { readonly type: 'online' };

const listeners = new Set<Listener>();

/** Calls the listener on lost sessions, lost connections and waits. Returns a function that ends it. */
export function onRequestEvent(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const reportRequestEvent = (event: RequestEvent): void => {
  for (const listener of listeners) listener(event);
};

/** When the last answer arrived, in milliseconds. A session lives on with each request. */
let lastAnswerAt = 0;
export const timeOfLastAnswer = (): number => lastAnswerAt;

/** The path and query of an operation below `/api/v1`, without filters that are empty. */
export function pathOf(id: OperationId, { params = {}, query = {} }: AnyInput = {}): string {
  const path = fillPath(operations[id].path, (name) => String(params[name] ?? ''));
  // A filter that was emptied is none.
  return withQuery(path, Object.fromEntries(Object.entries(query).filter(([, value]) => value !== '')));
}

/** Sends an operation of the API for the session's agent. */
export const call = <Id extends OperationId>(
  id: Id,
  input: Input<Id>,
  options?: CallOptions,
): Promise<Output<Id>> => callAndRead(id, input as AnyInput, options, readJson) as Promise<Output<Id>>;

/** The same, with the response as it is: for downloads and streams. It fails like `call`. */
export const callRaw = (id: OperationId, input: AnyInput, options?: CallOptions): Promise<Response> =>
  callAndRead(id, input, options, async (response) => response);

const callAndRead = <T>(
  id: OperationId,
  input: AnyInput,
  options: CallOptions | undefined,
  read: (response: Response) => Promise<T>,
): Promise<T> => send(operations[id].method, `/console${pathOf(id, input)}`, input.body, options, read);

/** A request to one of the console's own routes, such as `/console/api/session`. */
export const sendJson = (
  method: string,
  path: string,
  body?: unknown,
  options?: CallOptions,
): Promise<unknown> => send(method, path, body, options, readJson);

const platform = {
  async fetch(url: string | URL | Request, init?: RequestInit): Promise<Response> {
    const response = await fetch(url, init);
    lastAnswerAt = Date.now();
    reportRequestEvent({ type: 'online' });
    return response;
  },
  now: () => Date.now(),
  random: () => Math.random(),
  sleep,
};

/** Reads are repeated by react-query after longer waits, and when the server is unavailable (retry.ts). */
const loop = createRequestLoop(platform, {
  attempts: 2,
  maxWaitSeconds: 60,
  // In effect none: the browser has a limit of its own, and a page's clock leaps when the computer wakes up.
  timeoutSeconds: 86_400,
  onWait: (seconds) => reportRequestEvent({ type: 'waiting', seconds }),
});

async function send<T>(
  method: string,
  path: string,
  body: unknown,
  { signal }: CallOptions = {},
  read: (response: Response) => Promise<T>,
): Promise<T> {
  const headers = { accept: 'application/json', 'x-countersign-console': '1' };
  const init = (): RequestInit => ({
    ...initOf(method, headers, body),
    credentials: 'same-origin',
    cache: 'no-store',
    redirect: 'follow',
  });
  try {
    return await loop({ url: path, init, repeat: 'after-429', signal }, async (response) => {
      if (response.ok) return read(response);
      // The sign-in page shows the refusal of a sign-in itself.
      if (response.status === 401 && /^\/console\/api\/(v1|me)\//.test(path))
        reportRequestEvent({ type: 'unauthorized' });
      throw await errorOf(response);
    });
  } catch (error) {
    if (!(error instanceof ConnectionError) || error.code === 'invalid_response') throw error;
    reportRequestEvent({ type: 'offline' });
    throw new ApiError({
      status: 0,
      code: 'NO_CONNECTION',
      message: 'The server did not answer. Check your connection; nothing you typed is lost.',
    });
  }
}

async function errorOf(response: Response): Promise<ApiError> {
  const refusal = await readRefusal(response);
  const { status, code = `HTTP_${status}`, details } = refusal;
  const { message = `The server answered with status ${status}.` } = refusal;
  return new ApiError({
    ...refusal,
    code,
    message,
    details: details as Record<string, unknown>,
    retryAfterSeconds: isBusy(status) ? retryAfterSecondsOf(response.headers) : undefined,
  });
}
