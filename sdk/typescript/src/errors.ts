/** The errors that this SDK throws, besides TypeError for wrong options. */
import type { Finding, FindingCode } from './audit/findings.ts';
import { plainText } from './plain-text.ts';

export interface ApiErrorOptions {
  readonly requestId?: string | undefined;
  readonly details?: unknown;
  readonly retryAfterSeconds?: number | undefined;
  readonly cause?: unknown;
}

/** The server refused a request. */
export class ApiError extends Error {
  /** The HTTP status. */
  readonly status: number;
  /** The code of the API (`AGENT_NOT_FOUND`), or the OAuth error of the token endpoint (`invalid_client`). */
  readonly code: string;
  /** The header X-Request-Id of the answer. The server's log and audit log have the same id. */
  readonly requestId: string | undefined;
  /** For VALIDATION_ERROR: `{ fields: [{ in, field, message }] }`. */
  readonly details: unknown;
  /** When the request may be sent again, if the server says so. */
  readonly retryAfterSeconds?: number;

  constructor(status: number, code: string, message: string, options: ApiErrorOptions = {}) {
    const { requestId, details, retryAfterSeconds, cause } = options;
    super(
      `${status} ${code}: ${message}${requestId === undefined ? '' : ` (request ${requestId})`}`,
      cause === undefined ? undefined : { cause },
    );
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.details = details;
    if (retryAfterSeconds !== undefined) this.retryAfterSeconds = retryAfterSeconds;
  }
}

export type ConnectionErrorCode = 'unreachable' | 'timeout' | 'invalid_response';

/** There is no usable answer: the server cannot be reached, is too slow, or sends something else than Countersign does. */
export class ConnectionError extends Error {
  readonly code: ConnectionErrorCode;

  constructor(code: ConnectionErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ConnectionError';
    this.code = code;
  }
}

/** A person has not signed in, has refused, or the answer to an authorization request cannot be used. */
export class AuthorizationError extends Error {
  /**
   * The error of the server (`access_denied`, `login_required`, …), or `state_mismatch`, `issuer_mismatch`, `invalid_callback`,
   * `already_finished`, `timeout`, `authorization_required`, `untrusted_issuer`.
   */
  readonly code: string;

  constructor(code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'AuthorizationError';
    this.code = code;
  }
}

/** A request for approval gave no access. */
export class ApprovalError extends Error {
  /** `access_denied`, `expired_token`, `canceled`, or another error of the token endpoint, such as `invalid_grant`. */
  readonly code: string;
  readonly approvalId: string;

  constructor(code: string, approvalId: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
    this.approvalId = approvalId;
  }
}

/** A person has refused, or an administrator or the agent's suspension has canceled the request. */
export class ApprovalDenied extends ApprovalError {}

/** No decision in time. Nothing is approved by time-out. */
export class ApprovalExpired extends ApprovalError {}

/** This program called `cancel`. */
export class ApprovalCanceled extends ApprovalError {}

export type TokenErrorCode =
  | 'invalid_token'
  | 'invalid_dpop_proof'
  | 'insufficient_scope'
  | 'insufficient_authorization_details'
  | 'invalid_request'
  | 'temporarily_unavailable';

/** A token was refused. Answer with `status` and the header `WWW-Authenticate` with the text `wwwAuthenticate`. */
export class TokenError extends Error {
  readonly status: 401 | 403 | 503;
  readonly code: TokenErrorCode;
  readonly wwwAuthenticate: string;

  constructor(
    status: 401 | 403 | 503,
    code: TokenErrorCode,
    message: string,
    options: { readonly wwwAuthenticate: string; readonly cause?: unknown },
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'TokenError';
    this.status = status;
    this.code = code;
    this.wwwAuthenticate = options.wwwAuthenticate;
  }
}

export type WebhookErrorCode =
  | 'missing_header'
  | 'invalid_timestamp'
  | 'timestamp_out_of_tolerance'
  | 'invalid_signature'
  | 'invalid_body';

/** A webhook delivery was refused: it is not genuine, or too old. */
export class WebhookError extends Error {
  readonly code: WebhookErrorCode;

  constructor(code: WebhookErrorCode, message: string) {
    super(message);
    this.name = 'WebhookError';
    this.code = code;
  }
}

/** An audit export is not intact. */
export class AuditExportError extends Error {
  /** `countersign audit verify` uses the same codes. */
  readonly code: FindingCode;
  /** The number of the line, from 1; undefined when the problem concerns the export as a whole. */
  readonly line: number | undefined;
  readonly organizationId: string | undefined;
  /** The number of the link in its chain. */
  readonly sequence: number | undefined;
  readonly eventId: string | undefined;
  /** How much was verified before the problem. */
  readonly chains: number;
  readonly events: number;

  constructor(
    { code, problem, organizationId, sequence, eventId }: Finding,
    {
      line,
      chains,
      events,
    }: { readonly line?: number | undefined; readonly chains: number; readonly events: number },
  ) {
    // The sentence may name a field of the file.
    const message = plainText(problem);
    super(line === undefined ? message : `line ${line}: ${message}`);
    this.name = 'AuditExportError';
    this.code = code;
    this.line = line;
    this.organizationId = organizationId;
    this.sequence = sequence;
    this.eventId = eventId;
    this.chains = chains;
    this.events = events;
  }
}
