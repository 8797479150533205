/** The one formatter: whatever was thrown, by us or by the framework, becomes status, headers and body here. */

import type { ErrorCode, TokenErrorCode } from '../../contract/errors.ts';
import type { ErrorEnvelope } from '../../contract/shapes.ts';
import { Overloaded } from '../concurrency/overloaded.ts';
import { DatabaseUnavailable } from '../data/db.ts';
import { ApiError, TokenError } from '../fail.ts';

export interface FormattedError {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: object;
  /** A defect or an outage of ours, to be logged with its cause. */
  readonly isServerError: boolean;
}

export function formatError(
  error: unknown,
  failures: 'envelope' | 'oauth',
  malformed: TokenErrorCode = 'unsupported_grant_type',
): FormattedError {
  if (error instanceof TokenError) {
    const body = { error: error.code, error_description: error.message };
    const headers = {
      'cache-control': 'no-store',
      // RFC 6749 §5.2: a client that came by HTTP Basic is told so in kind.
      ...(error.status === 401 && { 'www-authenticate': 'Basic realm="token"' }),
    };
    return { status: error.status, headers, body, isServerError: false };
  }
  const known = toApiError(error);
  return {
    status: failures === 'oauth' ? oauthStatus(known) : known.status,
    headers: known.headers,
    body: failures === 'oauth' ? oauthBody(known, malformed) : envelope(known),
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

interface FrameworkError {
  readonly statusCode: number;
  readonly code: string;
  readonly message: string;
}

function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof DatabaseUnavailable) {
    return new ApiError('SERVICE_UNAVAILABLE', { headers: { 'retry-after': '1' }, cause: error });
  }
  if (error instanceof Overloaded) {
    const message =
      'The service is overloaded: too many requests are queued. Nothing was done; try again in a second.';
    return new ApiError('SERVICE_UNAVAILABLE', { message, headers: { 'retry-after': '1' }, cause: error });
  }
  // Fastify's own refusals (too large, wrong type, bad URL) carry a 4xx status and a safe message; other libraries'
  // messages stay inside.
  const { statusCode, code: word = '', message = '' } = (error ?? {}) as Partial<FrameworkError>;
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    const code = byStatus[statusCode];
    return code
      ? new ApiError(code, { cause: error })
      : new ApiError('VALIDATION_ERROR', { ...(/^FST_/.test(word) && { message }), cause: error });
  }
  return new ApiError('INTERNAL_SERVER_ERROR', { cause: error });
}

/** The spec answers a malformed token request 400, whatever is malformed about it. */
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
