import type { Queryable } from '../../kernel/data/db.ts';
import { sql } from '../../kernel/data/sql.ts';
import type { Partner } from './schema.ts';

const columns = sql`
  partner_id as id, name, issuer, jwks_uri as "jwksUri", id_jag as "idJag", created_at as "createdAt", updated_at as "updatedAt"`;

/** False when the issuer is already a partner. */
export async function insertPartner(db: Queryable, partner: Partner): Promise<boolean> {
  const { id, name, issuer, jwksUri, idJag, createdAt, updatedAt } = partner;
  const inserted = await db.run(
    'federation.insert',
    sql`insert into federation_partners (partner_id, name, issuer, jwks_uri, id_jag, created_at, updated_at)
        values (${id}, ${name}, ${issuer}, ${jwksUri}, ${idJag}, ${createdAt}, ${updatedAt})
        on conflict (issuer) do nothing`,
  );
  return inserted === 1;
}

export const listPartners = (db: Queryable): Promise<Partner[]> =>
  db.many('federation.list', sql`select ${columns} from federation_partners order by created_at, partner_id`);

export const findPartner = (db: Queryable, id: string): Promise<Partner | undefined> =>
  db.maybe('federation.find', sql`select ${columns} from federation_partners where partner_id = ${id}`);

export const findPartnerByIssuer = (db: Queryable, issuer: string): Promise<Partner | undefined> =>
  db.maybe(
    'federation.findByIssuer',
    sql`select ${columns} from federation_partners where issuer = ${issuer}`,
  );

/** Serializes changes of partners: of two with the same issuer, the second sees the first. */
export const lockPartners = (tx: Queryable): Promise<number> =>
  tx.run('federation.lock', sql`lock table federation_partners in share row exclusive mode`);

export async function updatePartner(tx: Queryable, partner: Partner): Promise<void> {
  const { id, name, issuer, jwksUri, idJag, updatedAt } = partner;
  await tx.run(
    'federation.update',
    sql`update federation_partners
        set name = ${name}, issuer = ${issuer}, jwks_uri = ${jwksUri}, id_jag = ${idJag}, updated_at = ${updatedAt}
        where partner_id = ${id}`,
  );
}

export async function deletePartner(tx: Queryable, id: string): Promise<void> {
  await tx.run('federation.delete', sql`delete from federation_partners where partner_id = ${id}`);
}
