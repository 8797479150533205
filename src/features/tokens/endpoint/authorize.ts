/** Decides the contents of each locked client's token: by the client's status, then by the grant, then by the quotas of the plan. */
import type { Tx } from '../../../kernel/data/db.ts';
import { TokenError } from '../../../kernel/fail.ts';
import type { VerifiedProof } from '../../../kernel/ports/possession.ts';
import type { LimitReached } from '../../tiers/limits.ts';
import type { VerifiedClient } from '../clients/verify-credential.ts';
import type { TokenContents } from '../draft-token.ts';
import { requireActive, requirePossession } from '../eligibility.ts';
import type { TokenDeps } from '../feature.ts';
import type { AuthenticatedClient, AuthorizedToken, OtherToken, RefusalWithEffect } from '../grant.ts';
import { usedProof } from '../possession.ts';
import type { LimitScopes } from '../scope-limit.ts';
import type { AgentStatus } from '../store.ts';
import { type Decision, decision, refusal, refusalBy } from './decision.ts';
import type { ClientLock } from './lock-clients.ts';
import type { ParsedRequest } from './parse.ts';

export interface AuthenticatedRequest extends Omit<ParsedRequest, 'proof'> {
  readonly proof: VerifiedClient;
  /** The key that the token will be bound to. */
  readonly keyProof?: VerifiedProof | undefined;
  /** By the preparation of the grant. */
  readonly refusal?: TokenError;
  /** This very request has marked the key's proof as used, and runs again because it had to wait for a lock. */
  readonly keyProofUsed?: true;
}

export interface Authorized {
  readonly kind: 'authorized';
  readonly request: AuthenticatedRequest;
  readonly client: AgentStatus;
  readonly contents: TokenContents;
}

export type Authorization = Authorized | Decision | Exclude<ClientLock, { kind: 'locked' }>;

/** In the order of the requests. */
export const authorize = (
  tx: Tx,
  requests: readonly AuthenticatedRequest[],
  locks: readonly ClientLock[],
  limitScopes: LimitScopes,
  replays: ReadonlySet<AuthenticatedRequest>,
): Promise<Authorization[]> =>
  Promise.all(
    requests.map((request, index) =>
      authorizeOne(tx, request, locks[index] as ClientLock, limitScopes, replays.has(request)),
    ),
  );

async function authorizeOne(
  tx: Tx,
  request: AuthenticatedRequest,
  lock: ClientLock,
  limitScopes: LimitScopes,
  isReplay: boolean,
): Promise<Authorization> {
  if (lock.kind !== 'locked') return lock;
  const client = lock.status;
  try {
    requireActive(client);
    requirePossession(client, request.keyProof !== undefined);
    if (isReplay) throw usedProof();
    if (request.refusal) throw request.refusal;
    const authorized = await authorizedBy(tx, request, client);
    if ('refusal' in authorized) {
      await authorized.effect(tx);
      throw authorized.refusal;
    }
    if ('entry' in authorized) return decision(authorized.entry, authorized.response, undefined);
    const limited = await limitScopes(tx, client, authorized);
    const { keyProof } = request;
    const contents = keyProof ? { ...limited, keyThumbprint: keyProof.thumbprint } : limited;
    return { kind: 'authorized', request, client, contents };
  } catch (error) {
    return refusalBy(error, request, client);
  }
}

function authorizedBy(
  tx: Tx,
  { grant, form, audience, origin, keyProof }: AuthenticatedRequest,
  client: AgentStatus,
): AuthorizedToken | Promise<AuthorizedToken | OtherToken | RefusalWithEffect> {
  const own = { client: grantClient(client), form, audience };
  const request = keyProof ? { ...own, keyThumbprint: keyProof.thumbprint } : own;
  return grant.transaction === 'shared'
    ? grant.authorize(request)
    : grant.authorize(tx, { ...request, origin });
}

export const grantClient = ({
  agentId,
  organizationId,
  allowedScopes,
}: AgentStatus): AuthenticatedClient => ({
  agentId,
  organizationId,
  scopes: allowedScopes,
});

/** Another transaction is issuing the last tokens of the quota, and this one does not wait for it. */
export const quotaBusy = { kind: 'quotaBusy' } as const;

export type WithinQuota = Authorization | typeof quotaBusy;

/** In the order of the requests. */
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
