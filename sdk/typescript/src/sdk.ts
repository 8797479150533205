/** The public interface of `@countersign/sdk`. */
export type { Api, CallOptions, Input, Output } from './api.ts';
export type { Approval, ApprovalOptions, PingStatus, WaitOptions } from './approval.ts';
export type { FindingCode as AuditProblemCode } from './audit/findings.ts';
export { readLines } from './audit/read-lines.ts';
export {
  type AuditCheckpoint,
  type AuditExport,
  type AuditExportOptions,
  verifyAuditExport,
} from './audit-export.ts';
export type { Auth, PrivateKey } from './authentication.ts';
export {
  type Authorization,
  type AuthorizationOptions,
  finishAuthorization,
  startAuthorization,
} from './authorization.ts';
export {
  type Client,
  type ClientOptions,
  createClient,
  type FetchOptions,
  type TokenOptions,
} from './client.ts';
export {
  ApiError,
  ApprovalCanceled,
  ApprovalDenied,
  ApprovalError,
  ApprovalExpired,
  AuditExportError,
  AuthorizationError,
  ConnectionError,
  TokenError,
  WebhookError,
} from './errors.ts';
export type * from './generated.ts';
export {
  createMemoryStorage,
  createPersonSession,
  type PersonSession,
  type PersonSessionOptions,
  type PersonTokens,
  type TokenStorage,
} from './person-session.ts';
export type { Platform } from './platform.ts';
export type { RetryOptions } from './retry.ts';
export {
  createVerifier,
  type Subjects,
  type Verifier,
  type VerifierOptions,
  type VerifyOptions,
} from './verifier.ts';
export type { AuthorizationDetail, Subject, VerifiedToken } from './verify/access-token.ts';
export type { IncomingRequest } from './verify/bearer.ts';
export type { IntrospectionClient } from './verify/introspection.ts';
export { requireDetail } from './verify/require-detail.ts';
export { verifyWebhook, type WebhookEvent, type WebhookHeaders, type WebhookOptions } from './webhook.ts';
