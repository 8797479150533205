/** Decides the contents of each locked client's token: by the client's status, then by the grant. */
import type { Tx } from '../../../kernel/data/db.ts';
import type { VerifiedProof } from '../clients/verify-credential.ts';
import type { TokenContents } from '../draft-token.ts';
import { requireActive } from '../eligibility.ts';
import type { AuthenticatedClient, AuthorizedToken } from '../grant.ts';
import type { LimitScopes } from '../scope-limit.ts';
import type { AgentStatus } from '../store.ts';
import { type Decision, refusalBy } from './decision.ts';
import type { ClientLock } from './lock-clients.ts';
import type { ParsedRequest } from './parse.ts';

export interface AuthenticatedRequest extends Omit<ParsedRequest, 'proof'> {
  readonly proof: VerifiedProof;
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
): Promise<Authorization[]> =>
  Promise.all(
    requests.map((request, index) => authorizeOne(tx, request, locks[index] as ClientLock, limitScopes)),
  );

async function authorizeOne(
  tx: Tx,
  request: AuthenticatedRequest,
  lock: ClientLock,
  limitScopes: LimitScopes,
): Promise<Authorization> {
  if (lock.kind !== 'locked') return lock;
  const client = lock.status;
  try {
    requireActive(client);
    const contents = await limitScopes(tx, client, await authorizedBy(tx, request, client));
    return { kind: 'authorized', request, client, contents };
  } catch (error) {
    return refusalBy(error, request, client);
  }
}

function authorizedBy(
  tx: Tx,
  { grant, form, audience }: AuthenticatedRequest,
  client: AgentStatus,
): AuthorizedToken | Promise<AuthorizedToken> {
  const request = { client: grantClient(client), form, audience };
  return grant.transaction === 'shared' ? grant.authorize(request) : grant.authorize(tx, request);
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
