/** Requests to a server that may be anyone's, and its refusals as one line with the field and the request id. */
import { ConnectionError } from '../../../sdk/typescript/src/errors.ts';
import { createPlatform } from '../../../sdk/typescript/src/platform.ts';
import {
  createRequestLoop,
  isBusy,
  type LoopRequest,
  type RequestLoop,
  tryAgain,
  waitOf,
} from '../../../sdk/typescript/src/request-loop.ts';
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

/** The host of a URL: this machine. */
export const isLoopback = (hostname: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);

export type Read<T> = (response: Response) => Promise<T>;

const once = createRequestLoop(createPlatform(), { attempts: 1 });

/** One request. `remedy` follows a 401. */
export const send = <T>(url: string, init: RequestInit, read: Read<T>, remedy?: string): Promise<T> =>
  sendWith(once, { url, init: () => init, repeat: 'never' }, read, () => remedy);

/** `read` gets what is no refusal. Its errors, and those of the loop, are of the command. */
export async function sendWith<T>(
  loop: RequestLoop,
  request: LoopRequest,
  read: Read<T>,
  remedy: () => string | undefined,
): Promise<T> {
  try {
    return await loop(request, async (response) => {
      if (response.ok) return read(response);
      throw await refusalOf(response, response.status === 401 ? remedy() : '');
    });
  } catch (error) {
    throw commandErrorOf(error, request.url);
  }
}

export function commandErrorOf(error: unknown, url: string | URL): unknown {
  if (!(error instanceof ConnectionError)) return error;
  const { code, message, cause } = error;
  const { origin } = new URL(url);
  const { code: reason = '' } = ((cause as Error | undefined)?.cause ?? {}) as NodeJS.ErrnoException;
  const problem = code === 'timeout' ? message : reasons[reason];
  return new CommandError(
    quoted(problem === undefined ? message : `cannot reach ${origin}: ${problem}`),
    code === 'invalid_response' ? exitCodes.failed : exitCodes.unavailable,
  );
}

/** Node's own texts for these are riddles, or empty. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'no server listens there (ECONNREFUSED); is it running, and is the address right?',
  ENOTFOUND: 'there is no host of this name (ENOTFOUND)',
  EAI_AGAIN: 'the name of the host cannot be looked up now (EAI_AGAIN)',
};

/** The server's error in either of its two forms; a proxy, or a server that is not ours, sends neither. */
async function refusalOf(response: Response, remedy = ''): Promise<ApiError> {
  const { origin } = new URL(response.url);
  const { status } = response;
  const { details, requestId, ...refusal } = await readRefusal(response);
  if (refusal.code === undefined)
    return new ApiError(status, 'UNKNOWN', `${origin} answered ${status} ${notOurs(response)}`, undefined);
  const code = quoted(refusal.code);
  const reason = quoted(refusal.message ?? 'no reason was given');
  const suffix = requestId ? ` (request ${quoted(requestId)})` : '';
  // The quota of a day, or of a month, may end a command for hours.
  const wait = isBusy(status) && waitOf(response.headers, Date.now());
  const again = wait ? tryAgain(wait, Date.now()) : '';
  const message = `${origin} answered ${status} ${code}: ${reason}${suffix}${again}${remedy}`;
  return new ApiError(status, code, message, details);
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
