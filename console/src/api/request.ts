/**
 * The only place that calls fetch. It adds the CSRF header, turns failures into ApiError with the request id, waits once
 * when the rate limit says so, and reports a lost session and a lost connection to listeners.
 */

import type { Part } from '../../../sdk/typescript/src/api.ts';
import { fillPath, withQuery } from '../../../sdk/typescript/src/request-path.ts';
import { readRefusal } from '../../../sdk/typescript/src/response.ts';
import { waitOf } from '../../../sdk/typescript/src/retry.ts';
import { ApiError } from './api-error.ts';
import { type OperationId, type Operations, operations } from './generated.ts';

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

/** The longest time that a request waits after a 429. Otherwise the error is shown at once. */
const longestWaitSeconds = 60;

type Listener = (event: RequestEvent) => void;
export type RequestEvent =
  | { readonly type: 'unauthorized' }
  | { readonly type: 'waiting'; readonly seconds: number }
  | { readonly type: 'offline' }
  | { readonly type: 'online' };

const listeners = new Set<Listener>();

/** Calls the listener on lost sessions, lost connections and waits. Returns a function that ends it. */
export function onRequestEvent(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const report = (event: RequestEvent): void => {
  for (const listener of listeners) listener(event);
};

/** When the last answer arrived, in milliseconds. A session lives on with each request. */
let lastAnswerAt = 0;
export const timeOfLastAnswer = (): number => lastAnswerAt;

/** The path and query of an operation below `/api/v1`, for requests and for "Copy as curl". */
export function pathOf(id: OperationId, { params = {}, query = {} }: AnyInput = {}): string {
  const path = fillPath(operations[id].path, (name) => String(params[name] ?? ''));
  // A filter that was emptied is none.
  return withQuery(path, Object.fromEntries(Object.entries(query).filter(([, value]) => value !== '')));
}

/** Sends an operation of the API for the session's agent. */
export async function call<Id extends OperationId>(
  id: Id,
  input: Input<Id>,
  options: CallOptions = {},
): Promise<Output<Id>> {
  const response = await callRaw(id, input as AnyInput, options);
  return readBody(response) as Promise<Output<Id>>;
}

/** The same, with the response as it is: for downloads and streams. It fails like `call`. */
export const callRaw = (id: OperationId, input: AnyInput, options: CallOptions = {}): Promise<Response> =>
  send(operations[id].method, `/console${pathOf(id, input)}`, input.body, options);

/** A request to one of the console's own routes, such as `/console/api/session`. */
export async function sendJson(
  method: string,
  path: string,
  body?: unknown,
  options: CallOptions = {},
): Promise<unknown> {
  return readBody(await send(method, path, body, options));
}

async function readBody(response: Response): Promise<unknown> {
  const text = await response.text();
  if (text === '') return undefined;
  return /json/.test(response.headers.get('content-type') ?? '') ? JSON.parse(text) : text;
}

async function send(
  method: string,
  path: string,
  body: unknown,
  { signal }: CallOptions,
  isRetry = false,
): Promise<Response> {
  const response = await fetchOnce(method, path, body, signal);
  if (response.ok) return response;
  const seconds = Math.ceil((waitOf(response.headers, Date.now()) ?? 0) / 1000);
  if (response.status === 429 && !isRetry && seconds > 0 && seconds <= longestWaitSeconds) {
    report({ type: 'waiting', seconds });
    await pause(seconds * 1000, signal);
    return send(method, path, body, { signal }, true);
  }
  // The sign-in page shows the refusal of a sign-in itself.
  if (response.status === 401 && /^\/console\/api\/(v1|me)\//.test(path)) report({ type: 'unauthorized' });
  throw await errorOf(response);
}

async function fetchOnce(
  method: string,
  path: string,
  body: unknown,
  signal: AbortSignal | undefined,
): Promise<Response> {
  try {
    const response = await fetch(path, {
      method,
      headers: {
        accept: 'application/json',
        'x-countersign-console': '1',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
      credentials: 'same-origin',
      cache: 'no-store',
    });
    lastAnswerAt = Date.now();
    report({ type: 'online' });
    return response;
  } catch (error) {
    if (signal?.aborted) throw error;
    report({ type: 'offline' });
    throw new ApiError({
      status: 0,
      code: 'NO_CONNECTION',
      message: 'The server did not answer. Check your connection; nothing you typed is lost.',
    });
  }
}

async function errorOf(response: Response): Promise<ApiError> {
  const { status, code, message, details, requestId } = await readRefusal(response);
  return new ApiError({
    status,
    code: code ?? `HTTP_${status}`,
    message: message ?? `The server answered with status ${status}.`,
    requestId,
    details: details as Record<string, unknown> | undefined,
  });
}

const pause = (milliseconds: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
