/**
 * An authenticated connection to a running server, for the commands that are its clients. Renews its token, waits where the server
 * says how long, and turns refusals into one line with the field and the request id.
 */
import { withQuery } from '../../../sdk/typescript/src/request-path.ts';
import { isRepeatable, waitOf } from '../../../sdk/typescript/src/retry.ts';
import { CommandError, exitCodes } from '../command-error.ts';
import type { Io } from '../io.ts';
import { printError } from '../terminal.ts';
import { type Access, type AccountOptions, accessOf, accountFrom } from './account.ts';
import { readJson, refusalOf, send } from './http.ts';

export { ApiError } from './http.ts';

export interface Connection {
  readonly url: string;
  /** The parsed JSON of the answer; undefined for an answer without a body. The path is relative to /api/v1. */
  call<T>(method: string, path: string, options?: CallOptions): Promise<T>;
  /** An answer that is read as it arrives: events, exports, archives. Refusals throw as in `call`. */
  open(method: string, path: string, options?: CallOptions): Promise<Response>;
}

export interface CallOptions {
  readonly query?: Readonly<Record<string, unknown>>;
  /** Sent as JSON, or as a form if it is one. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** What concerns the person of a session: the path is relative to /console/api/me. */
  readonly own?: boolean;
  /** For each attempt, with its answer. `open` has none without: a stream may last. */
  readonly timeoutMs?: number;
}

export const requestTimeoutMs = 30_000;
const attempts = 4;
/** A rate window lasts a minute. A longer Retry-After means that the quota of the day is used up. */
const longestWaitSeconds = 65;

export function connect(io: Io, options: AccountOptions): Connection {
  const account = accountFrom(io, options);
  const { url } = account;
  let access: Access | undefined;

  const open = async (method: string, path: string, call: CallOptions = {}): Promise<Response> => {
    const { timeoutMs } = call;
    if (call.own && !('session' in account)) throw notAPerson();
    let renewed = false;
    for (let attempt = 1; ; attempt += 1) {
      access ??= await accessOf(account);
      // For each attempt: a wait between two of them may be longer.
      const signal = call.signal ?? (timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs));
      const init = initOf(method, access, { ...call, ...(signal && { signal }) });
      const base = call.own ? (access.ownBase ?? access.base) : access.base;
      const response = await send(withQuery(`${base}${path}`, call.query ?? {}), init);
      if (response.ok) return response;
      if (response.status === 401 && access.remedy === undefined && !renewed) {
        renewed = true;
        access = undefined;
        await response.body?.cancel();
        continue;
      }
      const wait = mayRepeat(method, init, response) ? secondsUntil(response) : undefined;
      if (wait === undefined || attempt >= attempts)
        throw await refusalOf(response, response.status === 401 ? access.remedy : '');
      await response.body?.cancel();
      printError(io, `${url} is busy (${response.status}); trying again in ${wait} s`);
      await io.sleep(wait * 1_000);
    }
  };

  return {
    url,
    open,
    async call<T>(method: string, path: string, call: CallOptions = {}): Promise<T> {
      const response = await open(method, path, { timeoutMs: requestTimeoutMs, ...call });
      return (await readJson(response)) as T;
    },
  };
}

const notAPerson = (): CommandError =>
  new CommandError(
    'only a person decides, and this account is an agent: sign in with a one-time code of the console, `countersign login --code --profile me`, and give --profile me',
    exitCodes.notPermitted,
  );

function initOf(method: string, access: Access, { body, headers, signal }: CallOptions): RequestInit {
  const isForm = body instanceof URLSearchParams;
  return {
    method,
    headers: {
      ...access.headers,
      ...(body !== undefined && !isForm && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
    ...(signal && { signal }),
  };
}

/** A request with 429 was not executed. One with 503 may have been: a second one must change nothing more. */
const mayRepeat = (method: string, { headers }: RequestInit, { status }: Response): boolean =>
  status === 429 || (status === 503 && isRepeatable(method, headers));

/** Seconds until the request may be sent again; undefined when trying again is of no use. */
function secondsUntil({ headers }: Response): number | undefined {
  // A date is one of the server's clock, which may differ from ours.
  const now = Date.parse(headers.get('date') ?? '') || Date.now();
  const seconds = Math.max(1, Math.ceil((waitOf(headers, now) ?? 0) / 1_000));
  return seconds > longestWaitSeconds ? undefined : seconds;
}
