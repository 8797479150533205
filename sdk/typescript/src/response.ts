/** Reads answers of a server that may be faulty: bounded size, JSON only, and errors with the reason that the server gives. */
import { ApiError, ConnectionError } from './errors.ts';
import { plainText } from './plain-text.ts';

const maxJsonBytes = 16 * 1024 * 1024;
const maxErrorBytes = 64 * 1024;

/** The JSON of an answer, undefined for an empty one. */
export async function readJson(response: Response, maxBytes = maxJsonBytes): Promise<unknown> {
  const text = new TextDecoder().decode(await readBytes(response, maxBytes));
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ConnectionError(
      'invalid_response',
      `${originOf(response)} sent no JSON (${plainText(response.headers.get('content-type') ?? 'no type')}); is it the address of Countersign?`,
      cause,
    );
  }
}

export async function readBytes(response: Response, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const reader = response.body?.getReader();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true };
    if (done) return new Uint8Array(await new Blob(chunks).arrayBuffer());
    chunks.push(value);
    length += value.length;
    if (length <= maxBytes) continue;
    reader?.cancel().catch(() => {});
    throw new ConnectionError(
      'invalid_response',
      `the answer of ${originOf(response)} is longer than ${maxBytes} bytes`,
    );
  }
}

/** An error of the server as it was sent: any text may be in it. */
export interface Refusal {
  readonly status: number;
  /** The code of the API, or the OAuth error of the token endpoint. Absent when a proxy answered, or a server that is not ours. */
  readonly code: string | undefined;
  readonly message: string | undefined;
  readonly details: unknown;
  readonly requestId: string | undefined;
}

/** The server's error in either of its two forms. A proxy may send neither. */
export async function readRefusal(response: Response): Promise<Refusal> {
  const answer = await readJson(response, maxErrorBytes).catch(() => undefined);
  const { code, message, details, error, error_description } = (
    typeof answer === 'object' && answer !== null ? answer : {}
  ) as Readonly<Record<string, unknown>>;
  return {
    status: response.status,
    code: textOf(code) ?? textOf(error),
    message: textOf(message) ?? textOf(error_description),
    details,
    requestId: response.headers.get('x-request-id') ?? undefined,
  };
}

/** The fields of an answer that must be JSON. Throws the error of a refusal. */
export async function readFields(
  response: Response,
  maxBytes: number,
): Promise<Readonly<Record<string, unknown>>> {
  const redirect = redirectOf(response);
  if (redirect) throw redirect;
  if (!response.ok) throw await readError(response);
  const answer = await readJson(response, maxBytes);
  return (typeof answer === 'object' && answer !== null ? answer : {}) as Readonly<Record<string, unknown>>;
}

export async function readError(response: Response): Promise<ApiError> {
  const { status, code, message, details, requestId } = await readRefusal(response);
  return new ApiError(
    status,
    plainText(code ?? `HTTP_${status}`),
    plainText(message ?? 'the server gives no reason'),
    { requestId: requestId === undefined ? undefined : plainText(requestId), details },
  );
}

/** The server of an API has no reason to redirect. Browsers hide the status. */
export const redirectOf = (response: Response): ConnectionError | undefined =>
  response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400)
    ? new ConnectionError(
        'invalid_response',
        `${originOf(response)} answers with a redirect (${plainText(response.headers.get('location') ?? 'hidden')}), which is not followed: use the address that it leads to`,
      )
    : undefined;

/** Lets the connection be used again, or closes it. */
export const discard = (response: Response): void => void response.body?.cancel().catch(() => {});

export const originOf = ({ url }: { readonly url: string }): string =>
  URL.canParse(url) ? new URL(url).origin : 'the server';

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
