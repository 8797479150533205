import type { Queryable } from '../../../kernel/data/db.ts';
import { sql } from '../../../kernel/data/sql.ts';

export async function insertSignIn(
  db: Queryable,
  signIn: { hash: Buffer; returnTo: string; expiresAt: Date },
): Promise<void> {
  await db.run(
    'providerSignIns.insert',
    sql`insert into provider_sign_ins (sign_in_hash, return_to, expires_at)
        values (${signIn.hash}, ${signIn.returnTo}, ${signIn.expiresAt})`,
  );
}

/** For the provider's answer, which is accepted once. Undefined when the sign-in is unknown, over, or answered. */
export const takeAnswer = (
  db: Queryable,
  hash: Buffer,
  now: Date,
): Promise<{ returnTo: string } | undefined> =>
  db.maybe(
    'providerSignIns.answer',
    sql`update provider_sign_ins set answered_at = ${now}
        where sign_in_hash = ${hash} and answered_at is null and expires_at > ${now}
        returning return_to as "returnTo"`,
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
