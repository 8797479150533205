/** Issues one token in the caller's transaction, for tokens that are not issued by the stages of the token endpoint. */

import type { DraftToken } from './draft-token.ts';
import type { LockClient } from './eligibility.ts';
import { quotaRefusal } from './endpoint/authorize.ts';
import type { TokenDeps } from './feature.ts';
import type { Mint } from './grant.ts';
import type { LimitScopes } from './scope-limit.ts';

export const createIssueOne =
  (
    { ledger, metrics, checkPlans }: TokenDeps,
    draft: DraftToken,
    limitScopes: LimitScopes,
    lockClient: LockClient,
  ): Mint =>
  async (tx, { agentId, origin, keyProof, ...authorized }) => {
    const client = await lockClient(tx, agentId, keyProof);
    const limited = await limitScopes(tx, client, authorized);
    const contents = keyProof ? { ...limited, keyThumbprint: keyProof.thumbprint } : limited;
    const [limit] = await checkPlans(tx, [client], { waiting: true });
    if (limit && limit !== 'busy') throw quotaRefusal(limit);
    const { entry, response, metricScope } = draft(client, contents, origin, null);
    await contents.whenIssued?.(tx);
    if (entry) await ledger.recordAll(tx, [entry]);
    const issued = await response;
    tx.afterCommit(() => metrics.count('service_tokens_issued_total', { scope: metricScope ?? '' }));
    return issued;
  };
