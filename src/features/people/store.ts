/** Writes `people`. A sign-in also reads the agents and organizations of the invitations. */

import type { Queryable } from '../../kernel/data/db.ts';
import { join, sql } from '../../kernel/data/sql.ts';
import { offsetOf } from '../../kernel/http/page.ts';
import type { PeopleQuery, Person } from './schema.ts';
import type { Invitation, SignedInPerson } from './service.ts';

const columns = sql`
  person_id as "personId", organization_id as "organizationId", issuer, subject, name, role, agent_id as "agentId",
  email, connection_id as "connectionId", status, created_at as "createdAt", updated_at as "updatedAt", last_sign_in_at as "lastSignInAt"`;

/** False when the organization has the person already, or the same invitation by e-mail waits. */
export async function insertPerson(
  db: Queryable,
  person: Person,
  { invited }: { invited: boolean },
): Promise<boolean> {
  const { personId, organizationId, issuer, subject, name, role, agentId, email, connectionId, status } =
    person;
  const inserted = await db.run(
    'people.insert',
    sql`insert into people
          (person_id, organization_id, issuer, subject, name, role, agent_id, email, connection_id, status, invited,
           created_at, updated_at, last_sign_in_at)
        values
          (${personId}, ${organizationId}, ${issuer}, ${subject}, ${name}, ${role}, ${agentId}, ${email}, ${connectionId},
           ${status}, ${invited}, ${person.createdAt}, ${person.updatedAt}, ${person.lastSignInAt})
        on conflict do nothing`,
  );
  return inserted === 1;
}

export async function countPeople(db: Queryable, organizationId: string): Promise<number> {
  const { total } = await db.one<{ total: number }>(
    'people.count',
    sql`select count(*) as total from people where organization_id = ${organizationId}`,
  );
  return total;
}

/** Changes of one organization are serialized by its lock, so the row needs none. */
export const findPerson = (
  db: Queryable,
  organizationId: string,
  personId: string,
): Promise<Person | undefined> =>
  db.maybe(
    'people.find',
    sql`select ${columns} from people where organization_id = ${organizationId} and person_id = ${personId}`,
  );

/** Of any organization. */
export const findPersonById = (db: Queryable, personId: string): Promise<Person | undefined> =>
  db.maybe('people.findById', sql`select ${columns} from people where person_id = ${personId}`);

export const findByIdentity = (
  db: Queryable,
  { organizationId, issuer, subject }: { organizationId: string; issuer: string; subject: string },
): Promise<Person | undefined> =>
  db.maybe(
    'people.findByIdentity',
    sql`select ${columns} from people
        where issuer = ${issuer} and subject = ${subject} and organization_id = ${organizationId}`,
  );

/** The invitation by e-mail that waits for a person with this address. */
export const findWaiting = (
  db: Queryable,
  connectionId: string,
  email: string,
): Promise<Person | undefined> =>
  db.maybe(
    'people.findWaiting',
    sql`select ${columns} from people
        where connection_id = ${connectionId} and lower(email) = lower(${email}) and issuer is null`,
  );

/** Whether a person with this address has signed in through the connection, or is invited to. */
export async function hasEmail(db: Queryable, connectionId: string, email: string): Promise<boolean> {
  const { found } = await db.one<{ found: boolean }>(
    'people.hasEmail',
    sql`select exists (
          select from people where connection_id = ${connectionId} and lower(email) = lower(${email})) as found`,
  );
  return found;
}

export const deleteWaiting = (db: Queryable, connectionId: string): Promise<Person[]> =>
  db.many(
    'people.deleteWaiting',
    sql`delete from people where connection_id = ${connectionId} and issuer is null returning ${columns}`,
  );

export async function listPeople(db: Queryable, organizationId: string, query: PeopleQuery) {
  const { role, q } = query;
  const matches = join(
    [
      sql`organization_id = ${organizationId}`,
      ...(role === undefined ? [] : [sql`role = ${role}`]),
      ...(q === undefined
        ? []
        : [sql`strpos(lower(name) || ' ' || lower(coalesce(email, '')), lower(${q})) > 0`]),
    ],
    ' and ',
  );
  const rows = await db.many<Person>(
    'people.list',
    sql`select ${columns} from people where ${matches}
        order by created_at desc, person_id desc limit ${query.limit} offset ${offsetOf(query)}`,
  );
  const { total } = await db.one<{ total: number }>(
    'people.total',
    sql`select count(*) as total from people where ${matches}`,
  );
  return { rows, total };
}

/** A role with an agent is as good as an invitation. */
export async function updatePerson(db: Queryable, person: Person): Promise<void> {
  const { personId, issuer, subject, name, role, agentId, email, connectionId, status } = person;
  await db.run(
    'people.update',
    sql`update people
        set issuer = ${issuer}, subject = ${subject}, name = ${name}, role = ${role}, agent_id = ${agentId},
            email = ${email}, connection_id = ${connectionId}, status = ${status},
            invited = invited or ${agentId}::uuid is not null, updated_at = ${person.updatedAt},
            last_sign_in_at = ${person.lastSignInAt}
        where person_id = ${personId}`,
  );
}

export async function deletePerson(db: Queryable, { personId }: Person): Promise<void> {
  await db.run('people.delete', sql`delete from people where person_id = ${personId}`);
}

/** The person, unless an admin has removed the invitation or the person has signed in by it. */
export const deleteUnused = (
  db: Queryable,
  organizationId: string,
  personId: string,
): Promise<Person | undefined> =>
  db.maybe(
    'people.decline',
    sql`delete from people
        where organization_id = ${organizationId} and person_id = ${personId} and last_sign_in_at is null
          and status = 'active'
        returning ${columns}`,
  );

export const updateLastSignIn = (
  db: Queryable,
  personId: string,
  at: string,
): Promise<SignedInPerson | undefined> =>
  db.maybe(
    'people.signedIn',
    sql`update people set last_sign_in_at = ${at} where person_id = ${personId} and status = 'active'
        returning person_id as "personId", name, role, agent_id as "agentId", organization_id as "organizationId"`,
  );

export const findInvitations = (db: Queryable, issuer: string, subject: string): Promise<Invitation[]> =>
  db.many(
    'people.invitations',
    sql`select p.person_id as "personId", p.name, p.role, p.agent_id as "agentId",
          p.organization_id as "organizationId", o.name as "organizationName",
          o.slug as "organizationSlug", p.last_sign_in_at is null as "firstVisit",
          p.status = 'suspended' as suspended,
          p.status = 'active' and o.status = 'active' and (p.agent_id is null or a.status = 'active') as usable
        from people p
        left join agents a on a.agent_id = p.agent_id
        join organizations o on o.organization_id = p.organization_id
        where p.issuer = ${issuer} and p.subject = ${subject} and p.invited
        order by p.last_sign_in_at is null, o.name, o.slug limit 100`,
  );
