/**
 * Every error code of the API with its status and default message. The spec's table comes first, unchanged; then our own codes
 * and those of HTTP itself.
 */

interface ErrorDefinition {
  readonly status: number;
  /** Other statuses that the spec gives the same code on particular routes. */
  readonly alsoStatus?: readonly number[];
  /** The default message; `fail` may give a more specific one. */
  readonly message: string;
}

const specErrors = {
  VALIDATION_ERROR: { status: 400, message: 'The request failed validation; details names each field.' },
  IMMUTABLE_FIELD: { status: 400, message: 'This field is fixed at creation and cannot be changed.' },
  RETENTION_WINDOW_EXCEEDED: { status: 400, message: 'Audit events older than 90 days are not kept.' },
  TIER_UPGRADE_NOT_REQUIRED: { status: 400, message: 'The target plan is not above the current plan.' },
  UNAUTHORIZED: { status: 401, message: 'A valid Bearer access token is required.' },
  FORBIDDEN: { status: 403, message: 'Your token is valid, but the policies do not permit this action.' },
  INSUFFICIENT_SCOPE: { status: 403, message: 'Your token lacks the scope this operation needs.' },
  FREE_TIER_LIMIT_EXCEEDED: { status: 403, message: "The organization's plan allows no more of these." },
  AGENT_NOT_ACTIVE: { status: 403, message: 'The agent must be active for this.' },
  AGENT_DECOMMISSIONED: {
    status: 403,
    alsoStatus: [410, 422],
    message: 'The agent is decommissioned, and that cannot be undone.',
  },
  ORG_SUSPENDED: {
    status: 403,
    message: 'The organization is suspended or deleted; its agents can do nothing.',
  },
  DELEGATION_EXPIRED: { status: 403, message: 'The delegation has expired.' },
  DELEGATION_REVOKED: { status: 403, message: 'The delegation was revoked.' },
  DELEGATION_SCOPE_EXCEEDED: {
    status: 403,
    message: 'A delegation can only narrow scopes, never widen them.',
  },
  AGENT_NOT_FOUND: { status: 404, message: 'There is no agent with this id.' },
  CREDENTIAL_NOT_FOUND: { status: 404, message: 'The agent has no credential with this id.' },
  AUDIT_EVENT_NOT_FOUND: {
    status: 404,
    message: 'There is no audit event with this id, or it is past retention.',
  },
  ORG_NOT_FOUND: { status: 404, message: 'There is no organization with this id.' },
  DELEGATION_NOT_FOUND: { status: 404, message: 'There is no delegation chain with this id.' },
  WEBHOOK_NOT_FOUND: { status: 404, message: 'There is no webhook subscription with this id.' },
  PARTNER_NOT_FOUND: { status: 404, message: 'There is no federation partner with this id.' },
  COMPLIANCE_DISABLED: { status: 404, message: 'Compliance reporting is switched off on this instance.' },
  AGENT_ALREADY_EXISTS: { status: 409, message: 'An agent with this e-mail is already registered.' },
  AGENT_ALREADY_DECOMMISSIONED: { status: 409, message: 'The agent is decommissioned already.' },
  CREDENTIAL_ALREADY_REVOKED: {
    status: 409,
    message: 'The credential is revoked, and that cannot be undone.',
  },
  ORG_ALREADY_EXISTS: { status: 409, message: 'An organization with this slug exists already.' },
  MEMBER_ALREADY_EXISTS: { status: 409, message: 'The agent is a member of this organization already.' },
  RATE_LIMIT_EXCEEDED: {
    status: 429,
    message: 'Too many requests; wait until the time in X-RateLimit-Reset.',
  },
  tier_limit_exceeded: {
    status: 429,
    message: "The organization's plan is used up for today; it resets at midnight UTC.",
  },
  INTERNAL_SERVER_ERROR: {
    status: 500,
    message: 'Something failed on our side; quote the X-Request-Id when you report it.',
  },
} as const satisfies Record<string, ErrorDefinition>;

const addedErrors = {
  SIGNAL_STREAM_NOT_FOUND: { status: 404, message: 'There is no signal stream with this id.' },
  SIGNAL_STREAM_LIMIT_EXCEEDED: {
    status: 403,
    message: 'The organization has the most signal streams it can have.',
  },
  PARTNER_ALREADY_EXISTS: { status: 409, message: 'A federation partner with this issuer exists already.' },
  TRUST_POLICY_NOT_FOUND: { status: 404, message: 'There is no trust policy with this id.' },
  TRUST_POLICY_ALREADY_EXISTS: { status: 409, message: 'An equal trust policy exists already.' },
  RESOURCE_NOT_FOUND: { status: 404, message: 'There is no API with this id.' },
  RESOURCE_ALREADY_EXISTS: { status: 409, message: 'An API with this identifier is registered already.' },
  RESOURCE_LIMIT_EXCEEDED: { status: 403, message: 'The organization has the most APIs it can have.' },
  GRANT_NOT_FOUND: { status: 404, message: 'The agent has no grant for this API.' },
  SHARE_NOT_FOUND: { status: 404, message: 'The API is not shared with this organization.' },
  SHARE_DECLINED: {
    status: 409,
    message: 'The organization declined this share; it can be offered again 24 hours later.',
  },
  SHARE_LIMIT_EXCEEDED: {
    status: 403,
    message:
      'You have offered too many APIs to this organization for the first time within 24 hours; offer further ones later.',
  },
  RESOURCE_NOT_VERIFIED: {
    status: 422,
    message: 'The host of the identifier does not publish the proof yet.',
  },
  MEMBER_NOT_FOUND: { status: 404, message: 'The agent is not a member of this organization.' },
  LAST_ADMIN: {
    status: 409,
    message: "This is the organization's last admin; make another agent or person an admin first.",
  },
  PERSON_NOT_FOUND: { status: 404, message: 'The organization has no person with this id.' },
  PERSON_ALREADY_EXISTS: {
    status: 409,
    message: 'A person with this issuer and subject was invited to this organization already.',
  },
  CONNECTION_NOT_FOUND: { status: 404, message: 'The organization has no connection with this id.' },
  CONNECTION_ALREADY_EXISTS: {
    status: 409,
    message: 'The organization has a connection with this issuer and clientId already.',
  },
  CONNECTION_LIMIT_EXCEEDED: {
    status: 403,
    message: 'The organization has the most connections it can have.',
  },
  AUTHORIZATION_REQUEST_NOT_FOUND: {
    status: 404,
    message:
      'There is no such request in this browser, or its ten minutes are over: begin again in the application.',
  },
  AUTHORIZATION_REQUEST_DECIDED: { status: 409, message: 'This request was decided already.' },
  APPROVAL_NOT_FOUND: {
    status: 404,
    message: 'There is no approval with this id, or it is not addressed to you.',
  },
  APPROVAL_NOT_PENDING: { status: 409, message: 'This approval was decided, canceled or has lapsed.' },
  APPROVAL_LIMIT_EXCEEDED: {
    status: 429,
    message: 'Too many requests for approval are open: wait until some are decided, or cancel some.',
  },
  IDEMPOTENCY_KEY_REUSED: {
    status: 409,
    message: 'A request with this Idempotency-Key was answered already, and its answer cannot be repeated.',
  },
  IDEMPOTENCY_KEY_MISMATCH: {
    status: 422,
    message: 'This Idempotency-Key was used with another request; use a new key.',
  },
  ARCHIVE_NOT_FOUND: {
    status: 404,
    message:
      'There is no archived file of this day: the organization had no events then, or the day is not archived (yet). `GET /audit/archives` lists the days.',
  },
  LOG_NOT_FOUND: {
    status: 404,
    message: 'This instance keeps no instance log: its operator has set no AUDIT_LOG_KEY.',
  },
  LOG_TILE_NOT_FOUND: {
    status: 404,
    message: 'The instance log has no such tile, or its entries are past retention.',
  },
  LISTING_NOT_FOUND: { status: 404, message: 'There is no marketplace listing with this id.' },
  LISTING_ALREADY_EXISTS: { status: 409, message: 'The agent has a marketplace listing already.' },
  SUBSCRIPTION_NOT_FOUND: { status: 404, message: 'The organization has no subscription.' },
  BILLING_DISABLED: { status: 404, message: 'Plans cannot be ordered on this instance.' },
  BILLING_PAGE_NOT_FOUND: { status: 404, message: 'There is no billing page at this address.' },
  BILLING_PAGE_CLOSED: {
    status: 410,
    message: 'This page was used already, or its time is over; ask for a new one.',
  },
} as const satisfies Record<string, ErrorDefinition>;

const transportErrors = {
  ROUTE_NOT_FOUND: {
    status: 404,
    message: 'There is nothing at this method and path; /docs/api lists what there is.',
  },
  METHOD_NOT_ALLOWED: {
    status: 405,
    message: 'This path does not have this method; the Allow header lists those it has.',
  },
  REQUEST_TIMEOUT: { status: 408, message: 'The request did not arrive in time.' },
  PAYLOAD_TOO_LARGE: { status: 413, message: 'The request body is larger than this server accepts.' },
  URI_TOO_LONG: { status: 414, message: 'The address is longer than this server accepts.' },
  UNSUPPORTED_MEDIA_TYPE: {
    status: 415,
    message: 'The operation reads no body of this Content-Type or Content-Encoding.',
  },
  HEADERS_TOO_LARGE: { status: 431, message: 'The request headers are larger than this server accepts.' },
  SERVICE_UNAVAILABLE: { status: 503, message: 'The service cannot answer just now; try again shortly.' },
} as const satisfies Record<string, ErrorDefinition>;

export const errorGroups = { spec: specErrors, added: addedErrors, transport: transportErrors } as const;

export const errors: Readonly<Record<ErrorCode, ErrorDefinition>> = {
  ...specErrors,
  ...addedErrors,
  ...transportErrors,
};

export type ErrorCode = keyof typeof specErrors | keyof typeof addedErrors | keyof typeof transportErrors;

/**
 * `error` values at the token endpoints. The first three are the spec's, for client_credentials;
 * the others are those of RFC 6749, RFC 8693, RFC 9396, RFC 9449 and CIBA for the grants we add.
 */
export const tokenErrors = {
  unsupported_grant_type: 400,
  invalid_client: 401,
  unauthorized_client: 403,
  invalid_request: 400,
  invalid_grant: 400,
  invalid_scope: 400,
  invalid_target: 400,
  invalid_authorization_details: 400,
  authorization_pending: 400,
  slow_down: 400,
  access_denied: 400,
  expired_token: 400,
  unknown_user_id: 400,
  invalid_binding_message: 400,
  invalid_dpop_proof: 400,
  use_dpop_nonce: 400,
} as const;

export type TokenErrorCode = keyof typeof tokenErrors;

/** Answers to a poll, not refusals: the audit log does not record them. */
export const pollingErrors: ReadonlySet<TokenErrorCode> = new Set(['authorization_pending', 'slow_down']);
