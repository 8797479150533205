/** Writes `connections`. A sign-in also reads the organization's status. */

import type { Condition } from '../../contract/conditions.ts';
import type { Queryable } from '../../kernel/data/db.ts';
import { sql } from '../../kernel/data/sql.ts';
import { offsetOf } from '../../kernel/http/page.ts';
import type { Connection, ConnectionsQuery } from './schema.ts';

const columns = sql`
  connection_id as "connectionId", organization_id as "organizationId", name, issuer, client_id as "clientId", scopes,
  conditions, status, id_jag as "idJag", created_at as "createdAt", updated_at as "updatedAt"`;

/** False when the organization has one with this issuer and client. */
export async function insertConnection(
  db: Queryable,
  connection: Connection,
  sealedSecret: string,
): Promise<boolean> {
  const { connectionId, organizationId, name, issuer, clientId, scopes, conditions, status, idJag } =
    connection;
  const inserted = await db.run(
    'connections.insert',
    sql`insert into connections
          (connection_id, organization_id, name, issuer, client_id, client_secret, scopes, conditions, status, id_jag, created_at,
           updated_at)
        values
          (${connectionId}, ${organizationId}, ${name}, ${issuer}, ${clientId}, ${sealedSecret}, ${scopes},
           ${JSON.stringify(conditions)}, ${status}, ${idJag}, ${connection.createdAt}, ${connection.updatedAt})
        on conflict (organization_id, issuer, client_id) do nothing`,
  );
  return inserted === 1;
}

export async function countConnections(db: Queryable, organizationId: string): Promise<number> {
  const { total } = await db.one<{ total: number }>(
    'connections.count',
    sql`select count(*) as total from connections where organization_id = ${organizationId}`,
  );
  return total;
}

export const listConnections = (
  db: Queryable,
  organizationId: string,
  query: ConnectionsQuery,
): Promise<Connection[]> =>
  db.many(
    'connections.list',
    sql`select ${columns} from connections where organization_id = ${organizationId}
        order by created_at desc, connection_id desc limit ${query.limit} offset ${offsetOf(query)}`,
  );

/** Changes of one organization are serialized by its lock, so the row needs none. */
export const findConnection = (
  db: Queryable,
  organizationId: string,
  connectionId: string,
): Promise<Connection | undefined> =>
  db.maybe(
    'connections.find',
    sql`select ${columns} from connections
        where organization_id = ${organizationId} and connection_id = ${connectionId}`,
  );

/** Whether the organization has another connection with this issuer and client. */
export async function hasTwin(db: Queryable, connection: Connection): Promise<boolean> {
  const { organizationId, connectionId, issuer, clientId } = connection;
  const { found } = await db.one<{ found: boolean }>(
    'connections.hasTwin',
    sql`select exists (
          select from connections
          where organization_id = ${organizationId} and issuer = ${issuer} and client_id = ${clientId}
            and connection_id <> ${connectionId}) as found`,
  );
  return found;
}

/** Without a new secret, the old one stays. */
export async function updateConnection(
  db: Queryable,
  connection: Connection,
  sealedSecret: string | null,
): Promise<void> {
  const { connectionId, name, clientId, scopes, conditions, status, idJag, updatedAt } = connection;
  await db.run(
    'connections.update',
    sql`update connections
        set name = ${name}, client_id = ${clientId}, client_secret = coalesce(${sealedSecret}::text, client_secret),
            scopes = ${scopes}, conditions = ${JSON.stringify(conditions)}, status = ${status},
            id_jag = ${idJag}, updated_at = ${updatedAt}
        where connection_id = ${connectionId}`,
  );
}

export async function deleteConnection(db: Queryable, { connectionId }: Connection): Promise<void> {
  await db.run('connections.delete', sql`delete from connections where connection_id = ${connectionId}`);
}

export const listActive = (
  db: Queryable,
  organizationId: string,
): Promise<{ connectionId: string; name: string }[]> =>
  db.many(
    'connections.listActive',
    sql`select connection_id as "connectionId", name from connections
        where organization_id = ${organizationId} and status = 'active' order by name, connection_id`,
  );

/** The active connections of this issuer whose identity assertions the organization accepts. */
export const findAsserting = (db: Queryable, organizationId: string, issuer: string): Promise<Connection[]> =>
  db.many(
    'connections.findAsserting',
    sql`select ${columns} from connections
        where organization_id = ${organizationId} and issuer = ${issuer} and status = 'active' and id_jag
        order by created_at, connection_id`,
  );

export const findWithConnections = (
  db: Queryable,
  organizationIds: readonly string[],
): Promise<{ organizationId: string }[]> =>
  db.many(
    'connections.have',
    sql`select distinct organization_id as "organizationId" from connections
        where organization_id = any(${organizationIds}::uuid[]) and status = 'active'`,
  );

/** A connection with its secret as the vault sealed it. */
export interface StoredConnection {
  readonly connectionId: string;
  readonly organizationId: string;
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly sealedSecret: string;
  readonly scopes: readonly string[];
  readonly conditions: readonly Condition[];
  /** It and its organization are active. */
  readonly usable: boolean;
}

export const findStored = (db: Queryable, connectionId: string): Promise<StoredConnection | undefined> =>
  db.maybe(
    'connections.findStored',
    sql`select c.connection_id as "connectionId", c.organization_id as "organizationId", c.name, c.issuer,
          c.client_id as "clientId", c.client_secret as "sealedSecret", c.scopes, c.conditions,
          c.status = 'active' and o.status = 'active' as usable
        from connections c join organizations o using (organization_id) where c.connection_id = ${connectionId}`,
  );
