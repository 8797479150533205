/**
 * Who signs in through a connection: the person of this issuer and subject; otherwise the invitation that waits for this verified e-mail,
 * which then belongs to the issuer and subject; otherwise a new member. The organization is locked, so neither connection nor people change
 * until the commit, and of two first sign-ins at the same moment one creates the person.
 */

import type { EventType } from '../../contract/events.ts';
import { limits } from '../../contract/limits.ts';
import { type Actor, actingPerson, type Origin } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import { failedChecks, personChecks } from '../../kernel/conditions/match.ts';
import type { Tx } from '../../kernel/data/db.ts';
import { nilUuid } from '../../kernel/ids.ts';
import type { ProviderIdentity } from '../../kernel/ports/openid-provider.ts';
import { claimedName, isSubject, nameOfNewcomer, verifiedEmail } from './claims.ts';
import type { PeopleDeps } from './feature.ts';
import type { Person } from './schema.ts';
import { countPeople, findByIdentity, findWaiting, insertPerson, updatePerson } from './store.ts';

export type RecordPerson = (
  tx: Tx,
  actor: Actor,
  type: Extract<EventType, `person.${string}`>,
  person: Person,
  more?: Record<string, unknown>,
) => Promise<void>;

export type AdmissionRefusal =
  | 'connection not active'
  | 'conditions not met'
  | 'invalid subject'
  | 'person suspended'
  | 'too many people';

export type Admission =
  | { readonly person: Person }
  | {
      readonly refused: AdmissionRefusal;
      readonly details?: Readonly<Record<string, unknown>>;
    };

export type Admit = (
  tx: Tx,
  origin: Origin,
  connection: { readonly connectionId: string; readonly organizationId: string },
  identity: ProviderIdentity,
) => Promise<Admission>;

const actorOf = (origin: Origin, person: Person): Actor => ({
  ...origin,
  agentId: person.agentId ?? nilUuid,
  organizationId: person.organizationId,
  person: actingPerson(person),
});

export function createAdmission(
  deps: Pick<PeopleDeps, 'clock' | 'ids' | 'lockOrganization' | 'findConnection'>,
  record: RecordPerson,
): Admit {
  const { clock, ids, lockOrganization, findConnection } = deps;

  /** The person as of this sign-in. An e-mail that is not verified changes nothing. */
  const refresh = async (
    tx: Tx,
    origin: Origin,
    before: Person,
    { issuer, subject, claims }: ProviderIdentity,
    connectionId: string,
  ): Promise<Person> => {
    const now = isoTime(clock);
    const known = {
      ...{ issuer, subject },
      name: claimedName(claims) ?? before.name,
      email: verifiedEmail(claims) ?? before.email,
    };
    const changed = (Object.keys(known) as (keyof typeof known)[]).filter(
      (field) => known[field] !== before[field],
    );
    const after: Person = {
      ...before,
      ...known,
      connectionId,
      lastSignInAt: now,
      ...(changed.length > 0 && { updatedAt: now }),
    };
    await updatePerson(tx, after);
    if (changed.length > 0) await record(tx, actorOf(origin, after), 'person.updated', after, { changed });
    return after;
  };

  const create = async (
    tx: Tx,
    origin: Origin,
    { issuer, subject, claims }: ProviderIdentity,
    { connectionId, organizationId }: { connectionId: string; organizationId: string },
  ): Promise<Person> => {
    const now = isoTime(clock);
    const person: Person = {
      ...{ personId: ids.uuid(), organizationId, issuer, subject, connectionId },
      name: nameOfNewcomer(claims, subject),
      role: 'member',
      agentId: null,
      email: verifiedEmail(claims),
      status: 'active',
      createdAt: now,
      updatedAt: now,
      lastSignInAt: now,
    };
    await insertPerson(tx, person, { invited: false });
    await record(tx, actorOf(origin, person), 'person.created', person);
    return person;
  };

  return async (tx, origin, { connectionId, organizationId }, identity) => {
    const { issuer, subject, claims } = identity;
    const owner = await lockOrganization(tx, organizationId);
    const connection = owner && (await findConnection(tx, organizationId, connectionId));
    if (owner?.status !== 'active' || connection?.status !== 'active')
      return { refused: 'connection not active' };
    if (!isSubject(subject)) return { refused: 'invalid subject' };
    const failed = failedChecks(personChecks(connection.conditions, claims));
    if (failed.length > 0)
      return { refused: 'conditions not met', details: { failed: failed.map(({ name }) => name) } };
    const email = verifiedEmail(claims);
    const known =
      (await findByIdentity(tx, { organizationId, issuer, subject })) ??
      (email === null ? undefined : await findWaiting(tx, connectionId, email));
    if (known?.status === 'suspended')
      return { refused: 'person suspended', details: { personId: known.personId } };
    if (known) return { person: await refresh(tx, origin, known, identity, connectionId) };
    if ((await countPeople(tx, organizationId)) >= limits.peoplePerOrganization)
      return { refused: 'too many people' };
    return { person: await create(tx, origin, identity, { connectionId, organizationId }) };
  };
}
