/** The result for one request, made in the transaction: its audit record, and the response to send after the commit. */
import { pollingErrors } from '../../../contract/errors.ts';
import type { LedgerEntry } from '../../../kernel/domain-event.ts';
import { TokenError } from '../../../kernel/fail.ts';
import type { Metrics } from '../../../kernel/observability/metrics.ts';
import type { VerifiedClient } from '../clients/verify-credential.ts';
import type { Grant, IssuedToken } from '../grant.ts';
import type { AgentStatus } from '../store.ts';
import type { ParsedRequest } from './parse.ts';

export interface Decision {
  readonly kind: 'decided';
  /** Undefined: nothing is recorded. */
  readonly entry: LedgerEntry | undefined;
  /** Rejects with the TokenError of a refusal. */
  readonly response: Promise<IssuedToken>;
  /** The label of the metric; undefined when no access token is issued. */
  readonly metricScope: string | undefined;
}

/** The response is awaited after the commit, or never if the transaction fails. */
export function decision(
  entry: LedgerEntry | undefined,
  response: Promise<IssuedToken>,
  metricScope: string | undefined,
): Decision {
  response.catch(() => {});
  return { kind: 'decided', entry, response, metricScope };
}

type RefusedRequest = Pick<ParsedRequest, 'origin' | 'audience' | 'form'>;

const maxRecordedScope = 256;

/** A refusal of an authenticated client. */
export const refusal = (request: RefusedRequest, client: AgentStatus, error: TokenError): Decision =>
  decision(
    pollingErrors.has(error.code) ? undefined : refusalEntry(request, client, error),
    Promise.reject(error),
    undefined,
  );

const refusalEntry = (
  { origin, audience, form }: RefusedRequest,
  { agentId, organizationId }: AgentStatus,
  error: TokenError,
): LedgerEntry => ({
  actor: { ...origin, agentId },
  type: 'token.refused',
  subject: {
    organizationId,
    agentId,
    outcome: 'failure',
    metadata: {
      reason: error.reason,
      ...error.details,
      ...(audience !== undefined && {
        audience,
        scope: (form.scope ?? '').slice(0, maxRecordedScope).toWellFormed(),
      }),
    },
  },
});

/** Other errors roll the transaction back. */
export function refusalBy(error: unknown, request: RefusedRequest, client: AgentStatus): Decision {
  if (!(error instanceof TokenError)) throw error;
  return refusal(request, client, error);
}

/** After the commit: the token, or the refusal as a TokenError. */
export async function respond(
  { grant, proof }: { readonly grant: Grant; readonly proof: VerifiedClient },
  { response, metricScope }: Decision,
  metrics: Metrics,
): Promise<IssuedToken> {
  const issued = await response;
  if (metricScope !== undefined) metrics.count('service_tokens_issued_total', { scope: metricScope });
  grant.onIssued?.(proof);
  return withTokenType(grant, issued);
}

export const withTokenType = ({ issuedTokenType }: Grant, issued: IssuedToken): IssuedToken =>
  issuedTokenType === undefined ? issued : { issued_token_type: issuedTokenType, ...issued };
