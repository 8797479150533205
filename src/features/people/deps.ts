import type { Caller, Origin } from '../../kernel/caller.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Db, Queryable, Tx } from '../../kernel/data/db.ts';
import type { Page } from '../../kernel/http/page.ts';
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Ids } from '../../kernel/ids.ts';
import type { Ledger } from '../../kernel/ledger.ts';
import type { NewPerson, PeopleQuery, Person, PersonChange, PersonParams, PersonRole } from './schema.ts';

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

export interface PeopleService {
  list(caller: Caller, orgId: string, query: PeopleQuery): Promise<Page<Person>>;
  invite(caller: Caller, orgId: string, wanted: NewPerson): Promise<Person>;
  update(caller: Caller, person: PersonParams, change: PersonChange): Promise<Person>;
  remove(caller: Caller, person: PersonParams): Promise<void>;
}

/** An invitation of a person whom the provider has identified. */
export interface Invitation {
  readonly personId: string;
  readonly name: string;
  readonly role: PersonRole;
  readonly agentId: string;
  readonly organizationId: string;
  readonly organizationName: string;
  /** Unlike the name, no other organization has it. */
  readonly organizationSlug: string;
  /** The person has never signed in by this invitation. */
  readonly firstVisit: boolean;
  /** The agent and the organization are active. */
  readonly usable: boolean;
}

export type SignedInPerson = Pick<Person, 'personId' | 'name' | 'role' | 'agentId' | 'organizationId'>;

export interface PeopleSignIn {
  /** All invitations of the person, at most 100, by the names of the organizations. */
  findInvitations(db: Queryable, issuer: string, subject: string): Promise<Invitation[]>;
  /** The person as of now, locked until the transaction ends; undefined when the person was removed. */
  recordSignIn(tx: Tx, personId: string): Promise<SignedInPerson | undefined>;
  /** Deletes an invitation that the person has never used, and records it. False when there is none any more. */
  decline(origin: Origin, invitation: Pick<Invitation, 'organizationId' | 'personId'>): Promise<boolean>;
}

export interface People extends PeopleService, PeopleSignIn {
  readonly routes: readonly RouteEntry[];
}
