/** Applies the token quotas of the plans, in the order of the requests. */

import type { Tx } from '../../../kernel/data/db.ts';
import { TokenError } from '../../../kernel/fail.ts';
import type { LimitReached } from '../../tiers/limits.ts';
import type { TokenDeps } from '../feature.ts';
import type { Authorization } from './authorize.ts';
import { refusal } from './decision.ts';

/** Another transaction is issuing the last tokens of the quota, and this one does not wait for it. */
export const quotaBusy = { kind: 'quotaBusy' } as const;

export type WithinQuota = Authorization | typeof quotaBusy;

export async function applyQuota(
  tx: Tx,
  authorizations: readonly Authorization[],
  { checkPlans, waiting }: Pick<TokenDeps, 'checkPlans'> & { readonly waiting: boolean },
): Promise<WithinQuota[]> {
  const clients = authorizations.flatMap((one) => (one.kind === 'authorized' ? [one.client] : []));
  const limits = clients.length === 0 ? [] : await checkPlans(tx, clients, { waiting });
  let next = 0;
  return authorizations.map((one) => {
    if (one.kind !== 'authorized') return one;
    const limit = limits[next++];
    if (limit === 'busy') return quotaBusy;
    return limit ? refusal(one.request, one.client, quotaRefusal(limit)) : one;
  });
}

export const quotaRefusal = ({ limitType, limit, resetsAt, description }: LimitReached): TokenError =>
  new TokenError('unauthorized_client', description, `${limitType} reached`, { limitType, limit, resetsAt });
