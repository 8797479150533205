/**
 * The people of an organization. Every change locks the organization first, then the agents concerned: the changes of one organization are
 * serialized, and a person never gets more power than the caller could give to an agent by a credential.
 */

import { limits } from '../../contract/limits.ts';
import type { Actor, Caller, Origin } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import { validationError } from '../../kernel/http/input/validation.ts';
import { type Page, pageOf } from '../../kernel/http/page.ts';
import { providerAddressProblem } from '../../kernel/url-problem.ts';
import type { Agent } from '../agents/schema.ts';
import type { PeopleDeps } from './feature.ts';
import type { NewPerson, PeopleQuery, Person, PersonChange, PersonParams, PersonRole } from './schema.ts';
import {
  countPeople,
  deletePerson,
  deleteUnused,
  findInvitations,
  findPerson,
  insertPerson,
  listPeople,
  updateLastSignIn,
  updatePerson,
} from './store.ts';

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

export function createPeopleService(deps: PeopleDeps): PeopleService & PeopleSignIn {
  const { db, clock, ids, ledger, lockOrganization, organizationFor, lockAgent, refuseImpersonation } = deps;

  const refuseLastAdmin = async (tx: Tx, caller: Caller, { organizationId, personId, role }: Person) => {
    if (role === 'admin') await deps.refuseLastAdmin(tx, caller, organizationId, { personId });
  };

  const lockPerson = async (tx: Tx, { orgId, personId }: PersonParams): Promise<Person> => {
    if (!(await lockOrganization(tx, orgId))) fail('ORG_NOT_FOUND');
    return (await findPerson(tx, orgId, personId)) ?? fail('PERSON_NOT_FOUND');
  };

  /** The organization is locked until the commit: of concurrent requests for the last place exactly one succeeds. */
  const requireCapacity = async (tx: Tx, organizationId: string) => {
    if (!(await lockOrganization(tx, organizationId))) fail('ORG_NOT_FOUND');
    const limit = limits.peoplePerOrganization;
    if ((await countPeople(tx, organizationId)) < limit) return;
    fail('FREE_TIER_LIMIT_EXCEEDED', {
      message: `An organization may have at most ${limit} people; remove one who needs no access.`,
      details: { limitType: 'max_people', limit },
    });
  };

  /** The person will act as the agent: the same rule as for giving the agent a secret. */
  const authorize = async (tx: Tx, caller: Caller, agent: Agent, organizationId: string) => {
    if (agent.organizationId !== organizationId)
      fail('AGENT_NOT_FOUND', { message: 'The organization has no agent with this id.' });
    await refuseImpersonation(tx, caller, agent);
    if (agent.status !== 'active') fail('AGENT_NOT_ACTIVE');
  };

  const record = (
    tx: Tx,
    actor: Actor,
    type: 'person.invited' | 'person.updated' | 'person.removed' | 'person.declined',
    { organizationId, agentId, personId, name, role, issuer, subject }: Person,
    more: Record<string, unknown> = {},
  ) =>
    ledger.record(tx, actor, type, {
      organizationId,
      agentId,
      metadata: { personId, name, role, issuer, subject, ...more },
    });

  return {
    async list(caller, orgId, query) {
      const { organizationId } = await organizationFor(caller, orgId);
      const { rows, total } = await listPeople(db, organizationId, query);
      return pageOf(query, rows, total);
    },

    async invite(caller, orgId, wanted) {
      const problem = providerAddressProblem(wanted.issuer);
      if (problem) throw validationError('body', [{ in: 'body', field: 'issuer', message: problem }]);
      const organizationId = orgId.toLowerCase();
      return db.transaction(async (tx) => {
        await requireCapacity(tx, organizationId);
        const agent = await lockAgent(tx, caller, wanted.agentId);
        await authorize(tx, caller, agent, organizationId);
        const now = isoTime(clock);
        const person: Person = {
          ...wanted,
          personId: ids.uuid(),
          organizationId,
          agentId: agent.agentId,
          createdAt: now,
          updatedAt: now,
          lastSignInAt: null,
        };
        if (!(await insertPerson(tx, person))) fail('PERSON_ALREADY_EXISTS');
        await record(tx, caller, 'person.invited', person);
        return person;
      });
    },

    update: (caller, path, requested) =>
      db.transaction(async (tx) => {
        const before = await lockPerson(tx, path);
        const change = {
          ...requested,
          ...(requested.agentId && { agentId: requested.agentId.toLowerCase() }),
        };
        const agents = await lockInOrder([before.agentId, change.agentId ?? before.agentId], (agentId) =>
          lockAgent(tx, caller, agentId),
        );
        const changed = (Object.keys(change) as (keyof PersonChange)[]).filter(
          (field) => change[field] !== before[field],
        );
        if (changed.length === 0) return before;
        const after: Person = { ...before, ...change, updatedAt: isoTime(clock) };
        if (changed.includes('role') || changed.includes('agentId'))
          await authorize(tx, caller, agents.get(after.agentId) as Agent, before.organizationId);
        if (changed.includes('role')) await refuseLastAdmin(tx, caller, before);
        await updatePerson(tx, after);
        await record(tx, caller, 'person.updated', after, {
          changed,
          ...(changed.includes('role') && { previousRole: before.role }),
          ...(changed.includes('agentId') && { previousAgentId: before.agentId }),
        });
        return after;
      }),

    remove: (caller, path) =>
      db.transaction(async (tx) => {
        const person = await lockPerson(tx, path);
        await lockAgent(tx, caller, person.agentId);
        await refuseLastAdmin(tx, caller, person);
        await deletePerson(tx, person);
        await record(tx, caller, 'person.removed', person);
      }),

    findInvitations,
    decline: (origin, { organizationId, personId }) =>
      db.transaction(async (tx) => {
        await lockOrganization(tx, organizationId);
        const person = await deleteUnused(tx, organizationId, personId);
        if (person) await record(tx, origin, 'person.declined', person);
        return person !== undefined;
      }),
    recordSignIn: (tx, personId) => updateLastSignIn(tx, personId, isoTime(clock)),
  };
}

/** In the order of the ids, so that two transactions do not deadlock. */
async function lockInOrder(
  agentIds: readonly string[],
  lock: (agentId: string) => Promise<Agent>,
): Promise<Map<string, Agent>> {
  const locked = new Map<string, Agent>();
  for (const agentId of [...new Set(agentIds)].sort()) locked.set(agentId, await lock(agentId));
  return locked;
}
