/** Errors of the authorization endpoint (RFC 6749 §4.1.2.1, RFC 8707, RFC 9396, OpenID Connect). */

type AuthorizationErrorCode =
  | 'invalid_request'
  | 'unauthorized_client'
  | 'access_denied'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'invalid_target'
  | 'invalid_authorization_details'
  | 'login_required'
  | 'consent_required'
  | 'server_error'
  | 'temporarily_unavailable';

/** Told to the client, by a redirect or, for a client that came by a document, by a link on a page. */
export class AuthorizationError extends Error {
  readonly code: AuthorizationErrorCode;

  constructor(code: AuthorizationErrorCode, description: string) {
    super(description);
    this.name = 'AuthorizationError';
    this.code = code;
  }
}

/** The client or its redirect URI cannot be trusted: the browser gets a page and is never redirected. */
export class UnusableRequest extends Error {
  /** Of a client that came by a document. */
  readonly host: string | undefined;

  constructor(problem: string, host?: string) {
    super(problem);
    this.name = 'UnusableRequest';
    this.host = host;
  }
}

export const refuse = (code: AuthorizationErrorCode, description: string): never => {
  throw new AuthorizationError(code, description);
};
