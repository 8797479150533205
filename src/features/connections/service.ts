/**
 * The connections of an organization. Every change locks the organization first, so the changes of one organization are serialized. The
 * secret is bound to the connection's id, and leaves only as a request to the provider.
 */

import { isDeepStrictEqual } from 'node:util';
import { limits } from '../../contract/limits.ts';
import type { Caller } from '../../kernel/caller.ts';
import { isoTime } from '../../kernel/clock.ts';
import { valuesProblem } from '../../kernel/conditions/match.ts';
import type { Queryable, Tx } from '../../kernel/data/db.ts';
import { fail } from '../../kernel/fail.ts';
import { type FieldProblem, validationError } from '../../kernel/http/input/validation.ts';
import { type Page, pageOf } from '../../kernel/http/page.ts';
import { providerAddressProblem } from '../../kernel/url-problem.ts';
import type { ConnectionDeps } from './feature.ts';
import type {
  Connection,
  ConnectionChange,
  ConnectionParams,
  ConnectionsQuery,
  NewConnection,
} from './schema.ts';
import {
  countConnections,
  deleteConnection,
  findAsserting,
  findConnection,
  findWithConnections,
  hasTwin,
  insertConnection,
  listActive,
  listConnections,
  updateConnection,
} from './store.ts';

export interface ConnectionService {
  list(caller: Caller, orgId: string, query: ConnectionsQuery): Promise<Page<Connection>>;
  get(caller: Caller, path: ConnectionParams): Promise<Connection>;
  create(caller: Caller, orgId: string, wanted: NewConnection): Promise<Connection>;
  update(caller: Caller, path: ConnectionParams, change: ConnectionChange): Promise<Connection>;
  remove(caller: Caller, path: ConnectionParams): Promise<void>;
}

export interface ConnectionAccess {
  /** The active connections of an organization, by name. */
  listActive(
    db: Queryable,
    organizationId: string,
  ): Promise<readonly { connectionId: string; name: string }[]>;
  /** Which of these organizations have an active connection. */
  haveConnections(db: Queryable, organizationIds: readonly string[]): Promise<ReadonlySet<string>>;
  /** The active connections of this issuer whose identity assertions the organization accepts. */
  findAsserting(db: Queryable, organizationId: string, issuer: string): Promise<readonly Connection[]>;
  /** A connection of the organization, active or not. */
  findConnection(
    db: Queryable,
    organizationId: string,
    connectionId: string,
  ): Promise<Connection | undefined>;
}

const defaultScopes = ['openid', 'email', 'profile'];

export function createConnectionService(deps: ConnectionDeps): ConnectionService & ConnectionAccess {
  const { db, clock, ids, ledger, vault, lockOrganization, organizationFor, deleteWaitingInvitations } = deps;

  const lockConnection = async (tx: Tx, { orgId, connectionId }: ConnectionParams): Promise<Connection> => {
    if (!(await lockOrganization(tx, orgId))) fail('ORG_NOT_FOUND');
    return (await findConnection(tx, orgId, connectionId)) ?? fail('CONNECTION_NOT_FOUND');
  };

  /** The organization is locked until the commit: of concurrent requests for the last place exactly one succeeds. */
  const requireCapacity = async (tx: Tx, organizationId: string) => {
    if (!(await lockOrganization(tx, organizationId))) fail('ORG_NOT_FOUND');
    const limit = limits.connectionsPerOrganization;
    if ((await countConnections(tx, organizationId)) < limit) return;
    fail('CONNECTION_LIMIT_EXCEEDED', {
      message: `An organization may have at most ${limit} connections; delete one that is not needed.`,
      details: { limit },
    });
  };

  const record = (
    tx: Tx,
    caller: Caller,
    event: 'created' | 'updated' | 'deleted',
    connection: Connection,
    more: Record<string, unknown> = {},
  ) => {
    const { connectionId, organizationId, name, issuer, clientId, scopes, conditions, status, idJag } =
      connection;
    return ledger.record(tx, caller, `connection.${event}`, {
      organizationId,
      agentId: caller.agentId,
      metadata: { connectionId, name, issuer, clientId, scopes, conditions, status, idJag, ...more },
    });
  };

  return {
    async list(caller, orgId, query) {
      const { organizationId } = await organizationFor(caller, orgId);
      const rows = await listConnections(db, organizationId, query);
      return pageOf(query, rows, await countConnections(db, organizationId));
    },

    async get(caller, { orgId, connectionId }) {
      const { organizationId } = await organizationFor(caller, orgId);
      return (await findConnection(db, organizationId, connectionId)) ?? fail('CONNECTION_NOT_FOUND');
    },

    async create(
      caller,
      orgId,
      { clientSecret, scopes = defaultScopes, conditions = [], idJag = false, ...wanted },
    ) {
      requireValid({ scopes, conditions }, wanted.issuer);
      const organizationId = orgId.toLowerCase();
      return db.transaction(async (tx) => {
        await requireCapacity(tx, organizationId);
        const now = isoTime(clock);
        const connection: Connection = {
          ...wanted,
          scopes,
          conditions,
          connectionId: ids.uuid(),
          organizationId,
          status: 'active',
          idJag,
          createdAt: now,
          updatedAt: now,
        };
        const sealed = vault.seal(clientSecret, connection.connectionId);
        if (!(await insertConnection(tx, connection, sealed))) fail('CONNECTION_ALREADY_EXISTS');
        await record(tx, caller, 'created', connection);
        return connection;
      });
    },

    async update(caller, path, { clientSecret, ...change }) {
      requireValid(change);
      return db.transaction(async (tx) => {
        const before = await lockConnection(tx, path);
        const fields = (Object.keys(change) as (keyof typeof change)[]).filter(
          (field) => !isDeepStrictEqual(change[field], before[field]),
        );
        const changed = [...fields, ...(clientSecret === undefined ? [] : ['clientSecret'])];
        if (changed.length === 0) return before;
        const after: Connection = { ...before, ...change, updatedAt: isoTime(clock) };
        if (await hasTwin(tx, after)) fail('CONNECTION_ALREADY_EXISTS');
        const sealed = clientSecret === undefined ? null : vault.seal(clientSecret, after.connectionId);
        await updateConnection(tx, after, sealed);
        await record(tx, caller, 'updated', after, { changed });
        return after;
      });
    },

    remove: (caller, path) =>
      db.transaction(async (tx) => {
        const connection = await lockConnection(tx, path);
        await deleteWaitingInvitations(tx, caller, connection);
        await deleteConnection(tx, connection);
        await record(tx, caller, 'deleted', connection);
      }),

    listActive,
    findAsserting,
    findConnection,
    haveConnections: async (queryable, organizationIds) =>
      new Set(
        (await findWithConnections(queryable, organizationIds)).map(({ organizationId }) => organizationId),
      ),
  };
}

function requireValid(
  { scopes, conditions = [] }: Pick<ConnectionChange, 'scopes' | 'conditions'>,
  issuer?: string,
): void {
  const problems: FieldProblem[] = [];
  const addProblem = (field: string, message: string | undefined) => {
    if (message !== undefined) problems.push({ in: 'body', field, message });
  };
  if (issuer !== undefined) addProblem('issuer', providerAddressProblem(issuer));
  if (scopes && !scopes.includes('openid')) addProblem('scopes', 'must contain openid');
  for (const [index, condition] of conditions.entries())
    addProblem(`conditions[${index}].values`, valuesProblem(condition));
  if (problems.length > 0) throw validationError('body', problems);
}
