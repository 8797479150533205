/** Requests to a server that may be anyone's, and its refusals as one line with the field and the request id. */
import { readRefusal } from '../../../sdk/typescript/src/response.ts';
import { CommandError, type ExitCode, exitCodes } from '../command-error.ts';
import { quoted } from '../terminal.ts';

/** The server refused a request. */
export class ApiError extends CommandError {
  readonly status: number;
  readonly code: string;
  readonly details: unknown;

  constructor(status: number, code: string, message: string, details: unknown) {
    super(message, exitCodeOf(status));
    this.status = status;
    this.code = code;
    this.details = details;
  }
}

/** Several times the size of our largest page. */
const maxAnswerBytes = 16 * 1024 * 1024;

/** The host of a URL: this machine. */
export const isLoopback = (hostname: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);

/** Throws when no server answers. An abort by the caller's own signal is thrown as it is. */
export async function send(address: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(address, { ...init, redirect: 'manual' });
  } catch (error) {
    const { signal } = init;
    if (signal?.aborted && signal.reason?.name === 'AbortError') throw error;
    throw unreachable(address, error);
  }
}

const unreachable = (address: string, error: unknown): CommandError => {
  const { message, cause } = error as Error;
  const { code, message: causeMessage } = (cause ?? {}) as NodeJS.ErrnoException;
  return new CommandError(
    `cannot reach ${new URL(address).origin}: ${quoted(reasons[code ?? ''] ?? (causeMessage || message))}`,
    exitCodes.unavailable,
  );
};

/** Node's own texts for these are riddles, or empty. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no server listens there (ECONNREFUSED); is it running, and is the address right?',
  ENOTFOUND: 'there is no host of this name (ENOTFOUND)',
  EAI_AGAIN: 'the name of the host cannot be looked up now (EAI_AGAIN)',
};

/** The whole body, unless it is longer than `maxBytes`. */
export async function readBody(response: Response, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of response.body ?? []) {
      length += chunk.length;
      if (length > maxBytes)
        throw new CommandError(`the response of the server is longer than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof CommandError ? error : unreachable(response.url, error);
  }
  return Buffer.concat(chunks);
}

/** The parsed JSON of an answer; undefined without a body. */
export async function readJson(response: Response): Promise<unknown> {
  const text = (await readBody(response, maxAnswerBytes)).toString();
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    throw new CommandError(`${new URL(response.url).origin} sent no JSON; is it the address of Countersign?`);
  }
}

/** The server's error in either of its two forms; a proxy, or a server that is not ours, sends neither. */
export async function refusalOf(response: Response, remedy = ''): Promise<ApiError> {
  const { origin } = new URL(response.url);
  const { status } = response;
  const { details, requestId, ...refusal } = await readRefusal(response);
  if (refusal.code === undefined)
    return new ApiError(status, 'UNKNOWN', `${origin} answered ${status} ${notOurs(response)}`, undefined);
  const code = quoted(refusal.code);
  const reason = quoted(refusal.message ?? 'no reason was given');
  const suffix = requestId ? ` (request ${quoted(requestId)})` : '';
  const again = status === 429 ? retryTime(response) : '';
  const message = `${origin} answered ${status} ${code}: ${reason}${suffix}${again}${remedy}`;
  return new ApiError(status, code, message, details);
}

const daySeconds = 86_400;

/** The quota of a day, or of a month, may end a command for hours. */
function retryTime({ headers }: Response): string {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  if (!(seconds > 0 && seconds <= 366 * daySeconds)) return '';
  return `; try again at ${new Date(Date.now() + seconds * 1_000).toISOString()}`;
}

function notOurs(response: Response): string {
  const location = response.headers.get('location');
  if (location !== null) return `and redirects to ${whereTo(location, response.url)}`;
  const type = response.headers.get('content-type') ?? '';
  const what = /\bhtml\b/.test(type) ? 'with a web page' : 'without a reason';
  return `${what}; is it the address of Countersign?`;
}

/** The address of a server has no path of the API. */
function whereTo(location: string, from: string): string {
  const target = URL.parse(location, from);
  return target && /^https?:$/.test(target.protocol) && target.origin !== new URL(from).origin
    ? `${target.origin}; use that address`
    : `${quoted(location)}; is it the address of Countersign?`;
}

function exitCodeOf(status: number): ExitCode {
  if (status === 401) return exitCodes.notSignedIn;
  if (status === 403) return exitCodes.notPermitted;
  if (status === 404) return exitCodes.notFound;
  return status === 429 || status >= 500 ? exitCodes.unavailable : exitCodes.failed;
}
