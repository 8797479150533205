/** A refused or failed request, as the API explained it. */
export interface FieldProblem {
  /** `body`, `query`, `params` or `headers`. */
  readonly in: string;
  /** A name, or a path such as `tokenConditions.0.claim`. */
  readonly field: string;
  readonly message: string;
}

export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** 0: no answer arrived. */
  readonly status: number;
  /** The code of the API's error, for example `AGENT_NOT_FOUND`; `NO_CONNECTION` when no answer arrived. */
  readonly code: string;
  readonly requestId: string | undefined;
  readonly details: Readonly<Record<string, unknown>>;
  /** When the request may be sent again, if the server says so. */
  readonly retryAfterSeconds: number | undefined;

  constructor(error: {
    status: number;
    code: string;
    message: string;
    requestId?: string | undefined;
    details?: Record<string, unknown> | undefined;
    retryAfterSeconds?: number | undefined;
  }) {
    super(error.message);
    this.status = error.status;
    this.code = error.code;
    this.requestId = error.requestId;
    this.details = error.details ?? {};
    this.retryAfterSeconds = error.retryAfterSeconds;
  }

  /** The problems of single fields, for a form. */
  get fields(): readonly FieldProblem[] {
    const { fields, field } = this.details;
    if (Array.isArray(fields)) return fields.filter(isFieldProblem);
    // A conflict about one field, such as a taken e-mail address.
    return typeof field === 'string' ? [{ in: 'body', field, message: this.message }] : [];
  }
}

const isFieldProblem = (value: unknown): value is FieldProblem =>
  typeof value === 'object' && value !== null && 'field' in value && 'message' in value;

/** Every failure as an ApiError, for display. */
export const toApiError = (error: unknown): ApiError =>
  error instanceof ApiError
    ? error
    : new ApiError({
        status: 0,
        code: 'CONSOLE_ERROR',
        message: error instanceof Error ? error.message : 'Something went wrong in the console.',
      });
