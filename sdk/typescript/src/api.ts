/**
 * The typed API: one method per operation, built from the table of operations. Parameters of the path stand at the top of the input,
 * `query` and `body` beside them: `updateAgent({ agentId, body: { owner } })`. Ours instead of openapi-fetch, because the table also
 * says which operations need a token, take an Idempotency-Key, a form, or answer with a stream.
 */

import { type OperationEntry, type OperationId, type Operations, operations } from './generated.ts';
import { fillPath, initOf, withQuery } from './request-rules.ts';
import { readJson, redirectOf } from './response.ts';

/** Keys whose type has no required field may be left out. */
export type Part<Key extends string, Type> = Type extends undefined
  ? { readonly [K in Key]?: undefined }
  : Record<string, never> extends Type
    ? { readonly [K in Key]?: Type | undefined }
    : { readonly [K in Key]: Type };

export type Input<Id extends OperationId> = Readonly<Operations[Id]['params']> &
  Part<'query', Operations[Id]['query']> &
  Part<'body', Operations[Id]['body']>;

/** Exports, archives and streams of events are answered as a `Response`, to be read as they arrive. */
export type Output<Id extends OperationId> = Operations[Id]['response'];

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** For operations that create something. A random one by default, so that a retry creates nothing twice. */
  readonly idempotencyKey?: string;
}

type Call<Id extends OperationId, Result> =
  Record<string, never> extends Input<Id>
    ? (input?: Input<Id>, options?: CallOptions) => Result
    : (input: Input<Id>, options?: CallOptions) => Result;

/** The items of a list that has pages. */
type Item<Page> = Page extends { data: (infer One)[]; total: number; page: number }
  ? One
  : Page extends { deliveries: (infer One)[]; total: number; offset: number }
    ? One
    : never;

type Method<Id extends OperationId> = Call<Id, Promise<Output<Id>>> &
  ([Item<Output<Id>>] extends [never]
    ? unknown
    : {
        /** All items, page by page: `for await (const agent of api.listAgents.all()) …`. */
        readonly all: Call<Id, AsyncGenerator<Item<Output<Id>>, void, undefined>>;
      });

export type Api = { readonly [Id in OperationId]: Method<Id> };

export interface ApiRequest {
  readonly entry: OperationEntry;
  /** Path and query. */
  readonly path: string;
  readonly init: RequestInit;
  readonly signal: AbortSignal | undefined;
}

/** Sends the request, with a token unless the operation needs none. Throws ApiError for a refusal. */
export type SendApiRequest = (
  request: ApiRequest,
  read: (response: Response) => Promise<unknown>,
) => Promise<unknown>;

interface AnyInput extends Readonly<Record<string, unknown>> {
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

type AnyMethod = (input?: AnyInput, options?: CallOptions) => Promise<unknown>;

export function createApi(send: SendApiRequest): Api {
  const methods = new Map<string, AnyMethod>();
  // Methods are made when they are first used: a program calls a few of the operations.
  return new Proxy(Object.create(null), {
    get(_, id) {
      if (typeof id !== 'string' || !Object.hasOwn(operations, id)) return undefined;
      const method = methods.get(id) ?? createMethod(id as OperationId, send);
      methods.set(id, method);
      return method;
    },
    has: (_, id) => Object.hasOwn(operations, id),
  }) as Api;
}

function createMethod(id: OperationId, send: SendApiRequest): AnyMethod {
  const entry = operations[id];
  const call: AnyMethod = async (input = {}, options = {}) =>
    send(requestOf(id, entry, input, options), async (response) => {
      const redirect = redirectOf(response);
      if (redirect) throw redirect;
      return entry.stream ? response : readJson(response);
    });
  return Object.assign(call, {
    all: (input: AnyInput = {}, options: CallOptions = {}) =>
      allItems((query) => call({ ...input, query }, options), input.query ?? {}),
  });
}

/** A new agent gets only the scopes of this API that the program names, not the default of the server. */
const bodyDefaults: Readonly<Partial<Record<OperationId, object>>> = { createAgent: { allowedScopes: [] } };

function requestOf(
  id: OperationId,
  entry: OperationEntry,
  { query = {}, body: given, ...params }: AnyInput,
  { signal, idempotencyKey }: CallOptions,
): ApiRequest {
  const body = withDefaults(given, bodyDefaults[id]);
  const path = fillPath(entry.path, (name) => pathSegment(id, name, params[name]));
  return {
    entry,
    path: withQuery(path, query),
    init: initOf(
      entry.method,
      {
        accept: entry.stream ? '*/*' : 'application/json',
        ...(entry.idempotencyKey && { 'idempotency-key': idempotencyKey ?? crypto.randomUUID() }),
      },
      entry.form ? formOf(body) : body,
    ),
    signal,
  };
}

function withDefaults(given: unknown, defaults: object = {}): unknown {
  if (typeof given !== 'object' || given === null) return given;
  const missing = Object.entries(defaults).filter(
    ([name]) => (given as Record<string, unknown>)[name] === undefined,
  );
  return missing.length === 0 ? given : { ...given, ...Object.fromEntries(missing) };
}

/** `..` would lead to another operation. */
function pathSegment(id: OperationId, name: string, value: unknown): string {
  if ((typeof value !== 'string' && typeof value !== 'number') || /^(|\.|\.\.)$/.test(String(value)))
    throw new TypeError(`${id} needs ${name}, a text that is not empty`);
  return String(value);
}

const formOf = (body: unknown): URLSearchParams =>
  new URLSearchParams(
    Object.entries(body ?? {})
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([name, value]) => [name, String(value)]),
  );

interface Page {
  readonly data?: readonly unknown[];
  readonly deliveries?: readonly unknown[];
  readonly total: number;
}

/** Lists have `page`, and deliveries have `offset`. */
async function* allItems(
  read: (query: Readonly<Record<string, unknown>>) => Promise<unknown>,
  query: Readonly<Record<string, unknown>>,
): AsyncGenerator<unknown, void, undefined> {
  let count = 0;
  let page = Number(query.page ?? 1);
  let offset = Number(query.offset ?? 0);
  for (;;) {
    const { data, deliveries, total } = ((await read({
      ...query,
      ...(count > 0 && (offset > 0 ? { offset } : { page })),
    })) ?? {}) as Page;
    const items = data ?? deliveries;
    if (!Array.isArray(items)) throw new TypeError('this operation has no pages');
    yield* items;
    count += items.length;
    if (items.length === 0 || count >= total) return;
    if (deliveries) offset += items.length;
    else page += 1;
  }
}
