/** Errors of the API: services call `fail(CODE)`; kernel/http/error-format.ts formats them. */
import { type ErrorCode, errors, type TokenErrorCode, tokenErrors } from '../contract/errors.ts';

interface FailOptions {
  readonly message?: string;
  readonly details?: Record<string, unknown>;
  /** Only a status that the contract lists for the code. */
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly cause?: unknown;
  /** The log has a line about it already: the error handler writes none. */
  readonly isLogged?: boolean;
}

export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly details: Record<string, unknown> | undefined;
  readonly headers: Record<string, string>;
  readonly isLogged: boolean;

  constructor(code: ErrorCode, options: FailOptions = {}) {
    const { message, status, alsoStatus } = errors[code];
    super(options.message ?? message, { cause: options.cause });
    this.name = 'ApiError';
    this.code = code;
    this.status = options.status ?? status;
    if (this.status !== status && !alsoStatus?.includes(this.status)) {
      throw new Error(`${code} never answers ${this.status}: see contract/errors.ts`);
    }
    this.details = options.details;
    this.headers = options.headers ?? {};
    this.isLogged = options.isLogged ?? false;
  }
}

/** A refusal at the token endpoint, answered as `{error, error_description}`. */
export class TokenError extends Error {
  readonly code: TokenErrorCode;
  readonly status: number;
  /** The reason in the audit log; the client may get less detail. */
  readonly reason: string;
  /** Added to the audit event. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: TokenErrorCode,
    description: string,
    reason = description,
    details: Record<string, unknown> = {},
    /** Where an endpoint answers the code with another status than the token endpoint. */
    status: number = tokenErrors[code],
  ) {
    super(description);
    this.reason = reason;
    this.details = details;
    this.name = 'TokenError';
    this.code = code;
    this.status = status;
  }
}

export function fail(code: ErrorCode, options?: FailOptions): never {
  throw new ApiError(code, options);
}

export function failToken(code: TokenErrorCode, description: string, reason?: string): never {
  throw new TokenError(code, description, reason);
}
