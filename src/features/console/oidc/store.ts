import type { Queryable } from '../../../kernel/data/db.ts';
import { sql } from '../../../kernel/data/sql.ts';
import type { Claims } from '../../../kernel/ports/signer.ts';

export interface BegunSignIn {
  /** A path of the console. */
  readonly returnTo: string;
  /** Null: the instance's own provider. */
  readonly connectionId: string | null;
  /** The authorization request that the sign-in continues. */
  readonly requestId: string | null;
  /** The person or agent that tests the connection: no session begins. */
  readonly testerId: string | null;
}

export async function insertSignIn(
  db: Queryable,
  signIn: BegunSignIn & { hash: Buffer; expiresAt: Date },
): Promise<void> {
  const { hash, returnTo, connectionId, requestId, testerId, expiresAt } = signIn;
  await db.run(
    'providerSignIns.insert',
    sql`insert into provider_sign_ins (sign_in_hash, return_to, connection_id, request_id, tester_id, expires_at)
        values (${hash}, ${returnTo}, ${connectionId}, ${requestId}, ${testerId}, ${expiresAt})`,
  );
}

/** For the provider's answer, which is accepted once. Undefined when the sign-in is unknown, over, or answered. */
export const takeAnswer = (
  db: Queryable,
  hash: Buffer,
  now: Date,
): Promise<(BegunSignIn & { expiresAt: string }) | undefined> =>
  db.maybe(
    'providerSignIns.answer',
    sql`update provider_sign_ins set answered_at = ${now}
        where sign_in_hash = ${hash} and answered_at is null and expires_at > ${now}
        returning return_to as "returnTo", connection_id as "connectionId", request_id as "requestId",
          tester_id as "testerId", expires_at as "expiresAt"`,
  );

/** For a test: PostgreSQL stores no NUL and no half of a surrogate pair. */
export async function updateClaims(db: Queryable, hash: Buffer, claims: object): Promise<void> {
  await db.run(
    'providerSignIns.claims',
    sql`update provider_sign_ins set claims = ${JSON.stringify(storable(claims))} where sign_in_hash = ${hash}`,
  );
}

const storable = (value: unknown): unknown => {
  if (typeof value === 'string') return value.replaceAll('\0', '\uFFFD').toWellFormed();
  if (Array.isArray(value)) return value.map(storable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [storable(key), storable(item)]));
};

export const findClaims = (
  db: Queryable,
  { hash, testerId, now }: { hash: Buffer; testerId: string; now: Date },
): Promise<{ connectionId: string; claims: Claims } | undefined> =>
  db.maybe(
    'providerSignIns.findClaims',
    sql`select connection_id as "connectionId", claims from provider_sign_ins
        where sign_in_hash = ${hash} and tester_id = ${testerId} and claims is not null and expires_at > ${now}`,
  );

export interface Identity {
  readonly issuer: string;
  readonly subject: string;
}

export async function updateIdentity(db: Queryable, hash: Buffer, identity: Identity): Promise<void> {
  await db.run(
    'providerSignIns.identify',
    sql`update provider_sign_ins set issuer = ${identity.issuer}, subject = ${identity.subject}
        where sign_in_hash = ${hash}`,
  );
}

/** The identity that the provider has confirmed. */
export const findIdentity = (db: Queryable, hash: Buffer, now: Date): Promise<Identity | undefined> =>
  db.maybe(
    'providerSignIns.identity',
    sql`select issuer, subject from provider_sign_ins
        where sign_in_hash = ${hash} and subject is not null and expires_at > ${now}`,
  );

/** The same, for the end of the sign-in: of concurrent requests one gets it. */
export const takeIdentity = (db: Queryable, hash: Buffer, now: Date): Promise<Identity | undefined> =>
  db.maybe(
    'providerSignIns.takeIdentity',
    sql`delete from provider_sign_ins
        where sign_in_hash = ${hash} and subject is not null and expires_at > ${now}
        returning issuer, subject`,
  );

/** Returns how many were deleted. */
export const deleteExpired = (db: Queryable, now: Date, atMost: number): Promise<number> =>
  db.run(
    'providerSignIns.deleteExpired',
    sql`delete from provider_sign_ins where ctid = any (array(
          select ctid from provider_sign_ins where expires_at < ${now} limit ${atMost} for update skip locked))`,
  );
