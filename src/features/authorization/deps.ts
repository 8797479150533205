import type { Queryable } from '../../kernel/data/db.ts';
import type { SessionDeps } from '../../kernel/http/access/session-requests.ts';
import type { SharedDeps } from '../../kernel/shared-deps.ts';
import type { ClientAgents } from '../agents/client-agents.ts';
import type { ClientAccess } from '../clients/service.ts';
import type { Consents } from '../delegation/consents.ts';
import type { ResourceAccess } from '../resources/access.ts';

export interface AuthorizationDeps
  extends Pick<SharedDeps, 'db' | 'clock' | 'ids' | 'ledger' | 'log'>,
    Pick<SessionDeps, 'authenticateSession'>,
    Pick<ResourceAccess, 'findLendingTarget'>,
    Pick<ClientAgents, 'findClientAgent'> {
  /** Our public address, and the audience of tokens for our own API. */
  readonly issuer: string;
  /** Whether people can sign in through the instance's own OpenID provider. */
  readonly hasInstanceProvider: boolean;
  readonly clients: ClientAccess;
  readonly consents: Consents;
  readonly people: PeopleAccess;
  readonly connections: ConnectionAccess;
}

interface PeopleAccess {
  findPerson(
    db: Queryable,
    personId: string,
  ): Promise<
    | {
        readonly personId: string;
        readonly organizationId: string;
        readonly name: string;
        readonly email: string | null;
        readonly status: 'active' | 'suspended';
        readonly role: 'admin' | 'viewer' | 'member';
      }
    | undefined
  >;
}

interface ConnectionAccess {
  /** By name. */
  listActive(
    db: Queryable,
    organizationId: string,
  ): Promise<readonly { readonly connectionId: string; readonly name: string }[]>;
  /** Which of these organizations have an active connection. */
  haveConnections(db: Queryable, organizationIds: readonly string[]): Promise<ReadonlySet<string>>;
}
