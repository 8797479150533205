/**
 * An authenticated connection to a running server, for the commands that are its clients. Renews its token, waits where the server
 * says how long, and turns refusals into one line with the field and the request id.
 */
import { createPlatform } from '../../../sdk/typescript/src/platform.ts';
import { createRequestLoop, isRepeatable } from '../../../sdk/typescript/src/request-loop.ts';
import { initOf, withQuery } from '../../../sdk/typescript/src/request-rules.ts';
import { readJson } from '../../../sdk/typescript/src/response.ts';
import { CommandError, exitCodes } from '../command-error.ts';
import type { Io } from '../io.ts';
import { printError } from '../terminal.ts';
import { type Access, type AccountOptions, accessOf, accountFrom, basePath } from './account.ts';
import { type Read, sendWith } from './http.ts';

export { ApiError } from './http.ts';

export interface Connection {
  readonly url: string;
  /** The parsed JSON of the answer; undefined for an answer without a body. The path is relative to /api/v1. */
  call<T>(method: string, path: string, options?: CallOptions): Promise<T>;
  /** An answer that is read as it arrives: events, exports, archives. Refusals throw as in `call`. */
  open(method: string, path: string, options?: CallOptions): Promise<Response>;
  /** An answer that `read` reads. The time limit of 30 seconds includes it. */
  read<T>(method: string, path: string, options: CallOptions, read: Read<T>): Promise<T>;
}

export interface CallOptions {
  readonly query?: Readonly<Record<string, unknown>>;
  /** Sent as JSON, or as a form if it is one. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** What concerns the person of a session: the path is relative to /console/api/me. */
  readonly own?: boolean;
  /** The caller goes on without the answer: a refusal is no reason to get a token with more scopes. */
  readonly optional?: boolean;
}

/** Several full rate windows of a minute. A longer Retry-After means that the quota of the day is used up. */
const maxWaitSeconds = 195;

export function connect(io: Io, options: AccountOptions): Connection {
  const account = accountFrom(io, options);
  const { url } = account;
  const loop = createRequestLoop(createPlatform({ sleep: io.sleep }), {
    maxWaitSeconds,
    onWait: (seconds, busy) =>
      printError(io, `${url} is busy (${busy?.status}); trying again in ${seconds} s`),
  });
  let access: Access | undefined;
  let refused: Access | undefined;

  const read = async <T>(
    method: string,
    path: string,
    { query = {}, body, headers, signal, own = false, optional = false }: CallOptions,
    readAnswer: Read<T>,
  ): Promise<T> => {
    if (own && !('session' in account)) throw notAPerson();
    const request = {
      url: withQuery(`${url}${basePath(account, own)}${path}`, query),
      repeat: isRepeatable(method, headers) ? 'after-answer' : 'after-429',
      signal,
      async init() {
        access ??= await accessOf(io, account, refused);
        return initOf(method, { ...access.headers, ...headers }, body);
      },
      renew({ status }: Response) {
        // A token from before may lack scopes that the client has now.
        const isOutdated = status === 403 && access?.isKept && !optional;
        if (access?.remedy !== undefined || !(status === 401 || isOutdated)) return false;
        refused = access;
        access = undefined;
        return true;
      },
    } as const;
    return sendWith(loop, request, readAnswer, () => access?.remedy);
  };

  return {
    url,
    read,
    open: (method, path, call = {}) => read(method, path, call, async (response) => response),
    call: <T>(method: string, path: string, call: CallOptions = {}) =>
      read(method, path, call, readJson) as Promise<T>,
  };
}

const notAPerson = (): CommandError =>
  new CommandError(
    'only a person decides, and this account is an agent: sign in as a person, `countersign login --profile me`, and give --profile me',
    exitCodes.notPermitted,
  );
