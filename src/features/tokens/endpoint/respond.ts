/** The last stage, after the commit: the token, or the refusal as a TokenError. */
import type { Metrics } from '../../../kernel/observability/metrics.ts';
import type { Grant, IssuedToken } from '../grant.ts';
import type { AuthenticatedRequest } from './authorize.ts';
import type { Decision } from './decision.ts';

export async function respond(
  { grant, proof }: AuthenticatedRequest,
  decision: Decision,
  metrics: Metrics,
): Promise<IssuedToken> {
  const issued = await decision.response;
  metrics.count('service_tokens_issued_total', { scope: decision.metricScope });
  grant.onIssued?.(proof);
  return withTokenType(grant, issued);
}

export const withTokenType = ({ issuedTokenType }: Grant, issued: IssuedToken): IssuedToken =>
  issuedTokenType === undefined ? issued : { ...issued, issued_token_type: issuedTokenType };
