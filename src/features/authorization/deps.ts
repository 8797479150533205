import type { SessionDeps } from '../../kernel/http/access/session-requests.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { ClientAgents } from '../agents/client-agents.ts';
import type { ClientAccess } from '../clients/service.ts';
import type { ConnectionAccess } from '../connections/service.ts';
import type { Consents } from '../delegation/consents.ts';
import type { PeopleAccess } from '../people/service.ts';
import type { ResourceAccess } from '../resources/access.ts';

export interface AuthorizationDeps
  extends Pick<SharedDeps, 'db' | 'clock' | 'ids' | 'ledger' | 'log'>,
    Pick<SessionDeps, 'authenticateSession'>,
    Pick<ResourceAccess, 'findLendingTarget' | 'detailsProblem'>,
    Pick<ClientAgents, 'findClientAgent'> {
  /** Our public address, and the audience of tokens for our own API. */
  readonly issuer: string;
  /** Whether people can sign in through the instance's own OpenID provider. */
  readonly hasInstanceProvider: boolean;
  readonly clients: ClientAccess;
  readonly consents: Consents;
  readonly people: Pick<PeopleAccess, 'findPerson'>;
  readonly connections: Pick<ConnectionAccess, 'listActive' | 'haveConnections'>;
}
