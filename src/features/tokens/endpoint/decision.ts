/** The result for one request, made in the transaction: its audit record, and the response to send after the commit. */
import type { LedgerEntry } from '../../../kernel/domain-event.ts';
import { TokenError } from '../../../kernel/fail.ts';
import type { IssuedToken } from '../grant.ts';
import type { AgentStatus } from '../store.ts';
import type { ParsedRequest } from './parse.ts';

export interface Decision {
  readonly kind: 'decided';
  readonly entry: LedgerEntry;
  /** Rejects with the TokenError of a refusal. */
  readonly response: Promise<IssuedToken>;
  /** The label of the metric. */
  readonly metricScope: string;
}

/** The response is awaited after the commit, or never if the transaction fails. */
export function decision(entry: LedgerEntry, response: Promise<IssuedToken>, metricScope: string): Decision {
  response.catch(() => {});
  return { kind: 'decided', entry, response, metricScope };
}

type RefusedRequest = Pick<ParsedRequest, 'origin' | 'audience' | 'form'>;

const maxRecordedScope = 256;

/** A refusal of an authenticated client. */
export const refusal = (
  { origin, audience, form }: RefusedRequest,
  { agentId, organizationId }: AgentStatus,
  error: TokenError,
): Decision =>
  decision(
    {
      actor: { ...origin, agentId },
      type: 'token.refused',
      subject: {
        organizationId,
        agentId,
        outcome: 'failure',
        metadata: {
          reason: error.reason,
          ...error.details,
          ...(audience !== undefined && { audience, scope: (form.scope ?? '').slice(0, maxRecordedScope) }),
        },
      },
    },
    Promise.reject(error),
    '',
  );

/** Other errors roll the transaction back. */
export function refusalBy(error: unknown, request: RefusedRequest, client: AgentStatus): Decision {
  if (!(error instanceof TokenError)) throw error;
  return refusal(request, client, error);
}
