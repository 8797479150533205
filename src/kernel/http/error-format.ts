/** The one formatter: turns any thrown value, ours or the framework's, into status, headers and body. */

import type { ErrorCode, TokenErrorCode } from '../../contract/errors.ts';
import type { ErrorEnvelope } from '../../contract/shapes.ts';
import { DatabaseUnavailable } from '../data/db.ts';
import { ApiError, TokenError } from '../fail.ts';
import { Overloaded, type OverloadedQueue } from '../overloaded.ts';
import { type BodyFormat, mediaTypes } from './route.ts';

interface FormattedError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
  readonly code: ErrorCode | TokenErrorCode;
  /** A defect or an outage on our side, to be logged with its cause. */
  readonly isServerError: boolean;
}

/** The properties of the route entry that decide the form of an error. */
interface ErrorFormat {
  readonly failures: 'envelope' | 'oauth';
  /** With `oauth`: the error code for a malformed form. */
  readonly malformed?: TokenErrorCode | undefined;
  readonly accepts?: BodyFormat | undefined;
}

export function formatError(
  error: unknown,
  { failures, malformed = 'unsupported_grant_type', accepts = 'json' }: ErrorFormat,
): FormattedError {
  if (error instanceof TokenError) {
    const body = { error: error.code, error_description: error.message };
    const headers = {
      'cache-control': 'no-store',
      // RFC 6749 §5.2.
      ...(error.status === 401 && { 'www-authenticate': 'Basic realm="token"' }),
    };
    return { status: error.status, headers, body, code: error.code, isServerError: false };
  }
  const known = toApiError(error, accepts);
  return {
    status: failures === 'oauth' ? oauthStatus(known) : known.status,
    headers: known.headers,
    body: failures === 'oauth' ? oauthBody(known, malformed) : envelope(known),
    code: known.code,
    isServerError: known.status >= 500,
  };
}

export const envelope = ({ code, message, details }: ApiError): ErrorEnvelope => ({
  code,
  message,
  ...(details && { details }),
});

const byStatus: Readonly<Record<number, ErrorCode>> = {
  404: 'ROUTE_NOT_FOUND',
  408: 'REQUEST_TIMEOUT',
  413: 'PAYLOAD_TOO_LARGE',
  414: 'URI_TOO_LONG',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  431: 'HEADERS_TOO_LARGE',
};

const overloadError = (message: string) =>
  new ApiError('SERVICE_UNAVAILABLE', { message, headers: { 'retry-after': '1' } });

/** Created once: under overload the stack of an error would take a fifth of the time of its refusal. */
const overloadErrors: Readonly<Record<OverloadedQueue, ApiError>> = {
  work: overloadError(
    'The service is overloaded: too many requests are queued. Nothing was done; try again in a second.',
  ),
  database_connections: overloadError(
    'The service is overloaded: too many requests are waiting for the database. Try again in a second.',
  ),
};

interface FrameworkError {
  readonly statusCode: number;
  readonly code?: string;
  readonly message?: string;
}

function toApiError(error: unknown, accepts: BodyFormat): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof DatabaseUnavailable) {
    return new ApiError('SERVICE_UNAVAILABLE', { headers: { 'retry-after': '1' }, cause: error });
  }
  if (error instanceof Overloaded) return overloadErrors[error.queue];
  const { statusCode = 500 } = (error ?? {}) as Partial<FrameworkError>;
  return statusCode >= 400 && statusCode < 500
    ? toClientError(error as FrameworkError, accepts)
    : new ApiError('INTERNAL_SERVER_ERROR', { cause: error });
}

/** Fastify's own refusals (too large, wrong type, bad URL) have a safe message. Messages of other libraries are not shown. */
function toClientError(error: FrameworkError, accepts: BodyFormat): ApiError {
  const { statusCode, code: frameworkCode = '', message = '' } = error;
  const code = byStatus[statusCode] ?? 'VALIDATION_ERROR';
  if (code === 'UNSUPPORTED_MEDIA_TYPE')
    return new ApiError(code, {
      message: `This operation reads ${mediaTypes[accepts]} only; send that Content-Type.`,
      cause: error,
    });
  if (frameworkCode === 'FST_ERR_BAD_URL')
    return new ApiError(code, {
      message: 'The path is not valid percent-encoded UTF-8; write a literal % as %25.',
      cause: error,
    });
  const isSafe = code === 'VALIDATION_ERROR' && /^FST_/.test(frameworkCode);
  return new ApiError(code, { ...(isSafe && { message }), cause: error });
}

/** The spec answers every malformed token request with 400. */
const oauthStatus = ({ code, status }: ApiError): number =>
  code === 'UNSUPPORTED_MEDIA_TYPE' ? 400 : status;

function oauthBody({ code, status, message }: ApiError, malformed: TokenErrorCode): object {
  if (code === 'RATE_LIMIT_EXCEEDED') return { error: code, code, message };
  if (code === 'UNSUPPORTED_MEDIA_TYPE') {
    return {
      error: malformed,
      error_description: 'send application/x-www-form-urlencoded, without a Content-Encoding',
    };
  }
  if (status === 400) return { error: malformed, error_description: message };
  if (status === 503) return { error: 'temporarily_unavailable', error_description: message, code, message };
  if (status >= 500) return { error: 'server_error', error_description: message, code, message };
  return { error: 'invalid_request', error_description: message, code, message };
}
