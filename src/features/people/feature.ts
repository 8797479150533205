/**
 * People: who may sign in to the console through the OpenID provider, in which organization, as admin or viewer, and through which agent.
 * Owns `people`. The console feature signs people in, and ends their sessions when it hears of a change.
 */

import type { Caller } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Db, Tx } from '../../kernel/data/db.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import { peopleRoutes } from './routes.ts';
import { createPeopleService, type PeopleService, type PeopleSignIn } from './service.ts';

/** The agent through which a person acts. */
export interface PersonAgent {
  readonly agentId: string;
  readonly organizationId: string;
  readonly status: 'active' | 'suspended' | 'decommissioned';
  readonly allowedScopes: readonly string[];
}

export interface PeopleDeps {
  readonly db: Db;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ledger: Ledger;
  /** Locked until the transaction ends; undefined when the organization is deleted or unknown. */
  lockOrganization(tx: Tx, organizationId: string): Promise<object | undefined>;
  /** Whether the caller may see the organization; ORG_NOT_FOUND otherwise. */
  organizationFor(caller: Caller, organizationId: string): Promise<{ organizationId: string }>;
  /**
   * The agent, locked until the transaction ends. AGENT_NOT_FOUND unless the caller may see it; FORBIDDEN for an operator's agent, unless
   * the caller is an operator.
   */
  lockAgent(tx: Tx, caller: Caller, agentId: string): Promise<PersonAgent>;
  /** FORBIDDEN unless the caller holds all that the agent holds: the person acts as the agent. */
  refuseImpersonation(tx: Tx, caller: Caller, agent: PersonAgent): Promise<void>;
  /** LAST_ADMIN when the organization would be left without an admin. */
  refuseLastAdmin(
    tx: Tx,
    caller: Caller,
    organizationId: string,
    person: { personId: string },
  ): Promise<void>;
}

export interface People extends PeopleService, PeopleSignIn {
  readonly routes: readonly RouteEntry[];
}

export function createPeople(deps: PeopleDeps): People {
  const service = createPeopleService(deps);
  return { ...service, routes: peopleRoutes(service) };
}
