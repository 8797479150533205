/** Issues one token in the caller's transaction, for tokens that are not issued by the stages of the token endpoint. */

import { failToken } from '../../kernel/fail.ts';
import type { DraftToken } from './draft-token.ts';
import { requireActive } from './eligibility.ts';
import { quotaRefusal } from './endpoint/authorize.ts';
import type { TokenDeps } from './feature.ts';
import type { Mint } from './grant.ts';
import type { LimitScopes } from './scope-limit.ts';
import { lockAgentStatus } from './store.ts';

export const createIssueOne =
  ({ ledger, metrics, checkPlans }: TokenDeps, draft: DraftToken, limitScopes: LimitScopes): Mint =>
  async (tx, { agentId, origin, ...authorized }) => {
    const client = await lockAgentStatus(tx, agentId);
    if (!client) return failToken('unauthorized_client', 'the agent does not exist');
    requireActive(client);
    const contents = await limitScopes(tx, client, authorized);
    const [limit] = await checkPlans(tx, [client], { waiting: true });
    if (limit && limit !== 'busy') throw quotaRefusal(limit);
    const { entry, response, metricScope } = draft(client, contents, origin, null);
    await contents.whenIssued?.(tx);
    if (entry) await ledger.recordAll(tx, [entry]);
    const issued = await response;
    tx.afterCommit(() => metrics.count('service_tokens_issued_total', { scope: metricScope }));
    return issued;
  };
