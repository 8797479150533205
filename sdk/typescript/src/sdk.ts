/** The public interface of `@countersign/sdk`. */
export type { Api, CallOptions, Input, Output } from './api.ts';
export type { Approval, ApprovalOptions, PingStatus, WaitOptions } from './approval.ts';
export type { FindingCode as AuditProblemCode } from './audit/findings.ts';
export { readLines } from './audit/read-lines.ts';
export type { WitnessedExport } from './audit/verify-export.ts';
export {
  type AuditCheckpoint,
  type AuditExport,
  type AuditExportOptions,
  verifyAuditExport,
} from './audit-export.ts';
export type { Auth } from './authentication.ts';
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
export { createDpop, type Dpop, type DpopFetchOptions, type DpopOptions, type ProofRequest } from './dpop.ts';
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
export { type IdJagOptions, type IdJagTarget, requestIdJag } from './id-jag.ts';
export {
  createMemoryStorage,
  createPersonSession,
  type PersonSession,
  type PersonSessionOptions,
  type PersonTokens,
  type TokenStorage,
} from './person-session.ts';
export type { Platform } from './platform.ts';
export type { PrivateKey } from './private-key.ts';
export type { RetryOptions } from './request-loop.ts';
export {
  type AgentGrant,
  createResourceClient,
  type IdJagGrant,
  type PersonGrant,
  type ResourceClient,
  type ResourceClientOptions,
  type ResourceGrant,
  type WorkloadGrant,
} from './resource-client.ts';
export type { SignalsOptions, SignalsStatus } from './signals/signals.ts';
export type { SignalsClient } from './signals/stream.ts';
export type { LogTrust } from './transparency/log-trust.ts';
export {
  createVerifier,
  type SignalsVerifier,
  type Verifier,
  type VerifyOptions,
} from './verifier.ts';
export type { AuthorizationDetail, Subject, VerifiedToken } from './verify/access-token.ts';
export type { IncomingRequest } from './verify/bearer.ts';
export type { IntrospectionClient } from './verify/introspection.ts';
export type { ProofOptions, Subjects, VerifierOptions } from './verify/options.ts';
export type { ProofStore } from './verify/proof-store.ts';
export { requireDetail } from './verify/require-detail.ts';
export { verifyWebhook, type WebhookEvent, type WebhookHeaders, type WebhookOptions } from './webhook.ts';
