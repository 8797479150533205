/**
 * The people of an organization. Every change locks the organization first, then the agents concerned: the changes of one organization are
 * serialized, and a person never gets more power than the caller could give to an agent by a credential.
 */

import { limits } from '../../contract/limits.ts';
import type { Actor, Caller, Origin } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import { type FieldProblem, validationError } from '../../kernel/http/input/validation.ts';
import { type Page, pageOf } from '../../kernel/http/page.ts';
import { nilUuid } from '../../kernel/ids.ts';
import { loggedSubject } from '../../kernel/ports/openid-provider.ts';
import { providerAddressProblem } from '../../kernel/url-problem.ts';
import type { Agent } from '../agents/schema.ts';
import { type Admit, createAdmission, type RecordPerson } from './admission.ts';
import type { PeopleDeps } from './feature.ts';
import type { NewPerson, PeopleQuery, Person, PersonChange, PersonParams, PersonRole } from './schema.ts';
import {
  countPeople,
  deletePerson,
  deleteUnused,
  deleteWaiting,
  findByIdentity,
  findInvitations,
  findPerson,
  findPersonById,
  hasEmail,
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
  /** Null for a member. */
  readonly agentId: string | null;
  readonly organizationId: string;
  readonly organizationName: string;
  /** Unlike the name, no other organization has it. */
  readonly organizationSlug: string;
  /** The person has never signed in by this invitation. */
  readonly firstVisit: boolean;
  readonly suspended: boolean;
  /** The person, the agent and the organization are active. */
  readonly usable: boolean;
}

export type SignedInPerson = Pick<Person, 'personId' | 'name' | 'role' | 'agentId' | 'organizationId'>;

export interface PeopleSignIn {
  /** All invitations of the person, at most 100, by the names of the organizations. */
  findInvitations(db: Queryable, issuer: string, subject: string): Promise<Invitation[]>;
  /** The person as of now, locked until the transaction ends; undefined when the person was removed or suspended. */
  recordSignIn(tx: Tx, personId: string): Promise<SignedInPerson | undefined>;
  /** For a sign-in through a connection. */
  readonly admit: Admit;
  /** Deletes an invitation that the person has never used, and records it. False when there is none any more. */
  decline(origin: Origin, invitation: Pick<Invitation, 'organizationId' | 'personId'>): Promise<boolean>;
}

export interface PeopleAccess {
  /** Of any organization; undefined when there is none. */
  findPerson(db: Queryable, personId: string): Promise<Person | undefined>;
  findByIdentity(
    db: Queryable,
    identity: { readonly organizationId: string; readonly issuer: string; readonly subject: string },
  ): Promise<Person | undefined>;
  /** The invitations by e-mail that wait for a sign-in through the connection. The organization must be locked. */
  deleteWaitingInvitations(
    tx: Tx,
    actor: Actor,
    connection: { readonly connectionId: string; readonly organizationId: string },
  ): Promise<void>;
}

/** An admin who is suspended, or whose invitation waits, is none. */
const isActiveAdmin = ({ role, status, issuer }: Person): boolean =>
  role === 'admin' && status === 'active' && issuer !== null;

export function createPeopleService(deps: PeopleDeps): PeopleService & PeopleSignIn & PeopleAccess {
  const { db, clock, ids, ledger, lockOrganization, organizationFor, lockAgent, refuseImpersonation } = deps;
  const { findConnection } = deps;

  const refuseLastAdmin = async (tx: Tx, caller: Caller, person: Person) => {
    const { organizationId, personId } = person;
    if (isActiveAdmin(person)) await deps.refuseLastAdmin(tx, caller, organizationId, { personId });
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

  /** Without a connection there is no field for it. Never with the e-mail. */
  const subjectOf = (person: Person, more: Record<string, unknown>) => {
    const { organizationId, agentId, personId, name, role, issuer, subject, connectionId } = person;
    return {
      organizationId,
      agentId: agentId ?? nilUuid,
      metadata: {
        ...{ personId, name, role, issuer, subject: subject && loggedSubject(subject) },
        ...(connectionId !== null && { connectionId }),
        ...more,
      },
    };
  };

  const record: RecordPerson = (tx, actor, type, person, more = {}) =>
    ledger.record(tx, actor, type, subjectOf(person, more));

  const requireConnection = async (
    tx: Tx,
    organizationId: string,
    { connectionId, email }: EmailInvitation,
  ) => {
    const connection =
      (await findConnection(tx, organizationId, connectionId)) ?? fail('CONNECTION_NOT_FOUND');
    if (await hasEmail(tx, connection.connectionId, email))
      fail('PERSON_ALREADY_EXISTS', {
        message: 'The connection has a person, or an invitation, with this e-mail already.',
      });
    return connection.connectionId;
  };

  return {
    async list(caller, orgId, query) {
      const { organizationId } = await organizationFor(caller, orgId);
      const { rows, total } = await listPeople(db, organizationId, query);
      return pageOf(query, rows, total);
    },

    async invite(caller, orgId, wanted) {
      const identity = identityOf(wanted);
      const { name, role } = wanted;
      const organizationId = orgId.toLowerCase();
      return db.transaction(async (tx) => {
        await requireCapacity(tx, organizationId);
        const agentId = requireAgentOf(role, wanted.agentId ?? null);
        const agent = agentId === null ? undefined : await lockAgent(tx, caller, agentId);
        if (agent) await authorize(tx, caller, agent, organizationId);
        const now = isoTime(clock);
        const person: Person = {
          ...{ issuer: null, subject: null, email: null, connectionId: null, name, role },
          ...('email' in identity
            ? {
                email: identity.email,
                connectionId: await requireConnection(tx, organizationId, identity),
              }
            : identity),
          personId: ids.uuid(),
          organizationId,
          agentId: agent?.agentId ?? null,
          status: 'active',
          createdAt: now,
          updatedAt: now,
          lastSignInAt: null,
        };
        if (!(await insertPerson(tx, person, { invited: true }))) fail('PERSON_ALREADY_EXISTS');
        await record(tx, caller, 'person.invited', person);
        return person;
      });
    },

    update: (caller, path, requested) =>
      db.transaction(async (tx) => {
        const before = await lockPerson(tx, path);
        const role = requested.role ?? before.role;
        const wantedAgent =
          requested.agentId === undefined && role !== 'member' ? before.agentId : requested.agentId;
        const agentId = requireAgentOf(role, wantedAgent ?? null);
        const change: Omit<Person, 'updatedAt'> = { ...before, ...requested, role, agentId };
        const agents = await lockInOrder([before.agentId, agentId], (id) => lockAgent(tx, caller, id));
        const changed = (['name', 'role', 'agentId', 'status'] as const).filter(
          (field) => change[field] !== before[field],
        );
        if (changed.length === 0) return before;
        const after: Person = { ...change, updatedAt: isoTime(clock) };
        const fields = changed.filter((field) => field !== 'status');
        if (agentId !== null && (changed.includes('role') || changed.includes('agentId')))
          await authorize(tx, caller, agents.get(agentId) as Agent, before.organizationId);
        if (changed.includes('role')) await refuseLastAdmin(tx, caller, before);
        await updatePerson(tx, after);
        if (fields.length > 0)
          await record(tx, caller, 'person.updated', after, {
            changed: fields,
            ...(changed.includes('role') && { previousRole: before.role }),
            ...(changed.includes('agentId') && { previousAgentId: before.agentId }),
          });
        // Suspending works for the last admin too: a kill switch has no exceptions.
        if (changed.includes('status'))
          await record(
            tx,
            caller,
            after.status === 'active' ? 'person.activated' : 'person.suspended',
            after,
            {
              status: after.status,
            },
          );
        return after;
      }),

    remove: (caller, path) =>
      db.transaction(async (tx) => {
        const person = await lockPerson(tx, path);
        if (person.agentId !== null) await lockAgent(tx, caller, person.agentId);
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
    admit: createAdmission(deps, record),

    findPerson: findPersonById,
    findByIdentity,
    async deleteWaitingInvitations(tx, actor, { connectionId }) {
      const deleted = await deleteWaiting(tx, connectionId);
      await ledger.recordAll(
        tx,
        deleted.map((person) => ({
          actor,
          type: 'person.removed',
          subject: subjectOf(person, { reason: 'connection deleted' }),
        })),
      );
    },
  };
}

type EmailInvitation = { readonly email: string; readonly connectionId: string };

/** VALIDATION_ERROR unless the person is named by issuer and subject, or by e-mail and connection. */
function identityOf({
  issuer,
  subject,
  email,
  connectionId,
}: NewPerson): EmailInvitation | { issuer: string; subject: string } {
  const byProvider = issuer !== undefined || subject !== undefined;
  const named = byProvider ? { issuer, subject } : { email, connectionId };
  const other = byProvider ? { email, connectionId } : {};
  const problems: FieldProblem[] = [
    ...Object.entries(named)
      .filter(([, value]) => value === undefined)
      .map(([field]) => ({
        field,
        message: byProvider ? 'is required' : 'is required, or issuer and subject',
      })),
    ...Object.entries(other)
      .filter(([, value]) => value !== undefined)
      .map(([field]) => ({ field, message: 'must be left out with issuer and subject' })),
  ].map((problem) => ({ in: 'body', ...problem }));
  const malformed = issuer === undefined ? undefined : providerAddressProblem(issuer);
  if (malformed) problems.push({ in: 'body', field: 'issuer', message: malformed });
  if (problems.length > 0) throw validationError('body', problems);
  return named as EmailInvitation | { issuer: string; subject: string };
}

/** A member acts through no agent, and everybody else through one. */
function requireAgentOf(role: PersonRole, agentId: string | null): string | null {
  if ((role === 'member') === (agentId === null)) return agentId?.toLowerCase() ?? null;
  const message =
    role === 'member' ? 'must be null with the role member' : `is required with the role ${role}`;
  throw validationError('body', [{ in: 'body', field: 'agentId', message }]);
}

/** In the order of the ids, so that two transactions do not deadlock. */
async function lockInOrder(
  agentIds: readonly (string | null)[],
  lock: (agentId: string) => Promise<Agent>,
): Promise<Map<string, Agent>> {
  const locked = new Map<string, Agent>();
  for (const agentId of [...new Set(agentIds)].sort())
    if (agentId !== null) locked.set(agentId, await lock(agentId));
  return locked;
}
