import Type from '../../contract/json-schema.ts';
import { policy, type RouteEntry, route } from '../../kernel/http/route.ts';
import { organization } from '../../kernel/policy.ts';
import {
  Connection,
  ConnectionChange,
  ConnectionPage,
  ConnectionParams,
  ConnectionsParams,
  ConnectionsQuery,
  NewConnection,
} from './schema.ts';
import type { ConnectionService } from './service.ts';

const tag = 'Organizations';
const access = policy(
  'organizations:managePeople',
  (_, { orgId = '' }) => organization(orgId),
  'ORG_NOT_FOUND',
);
const limit = 'caller';
const url = '/organizations/:orgId/connections';

export const connectionRoutes = (connections: ConnectionService): RouteEntry[] => [
  route({
    id: 'createConnection',
    summary: 'Let the people of an OpenID provider sign in to the organization',
    description:
      'Register `BASE_URL/console/api/oidc/callback` as the redirect URI at the provider. A person who signs in, meets the conditions and was not invited becomes a `member`. The provider is first contacted by a sign-in.',
    tag,
    method: 'POST',
    url,
    access,
    limit,
    idempotent: { event: 'connection.created', idField: 'connectionId' },
    schema: { params: ConnectionsParams, body: NewConnection, response: { 201: Connection } },
    errors: ['ORG_NOT_FOUND', 'CONNECTION_ALREADY_EXISTS', 'CONNECTION_LIMIT_EXCEEDED'],
    handler: ({ caller, params, body }) => connections.create(caller, params.orgId, body),
  }),
  route({
    id: 'listConnections',
    summary: 'List the OpenID providers whose people may sign in to the organization, newest first',
    tag,
    method: 'GET',
    url,
    access,
    limit,
    schema: { params: ConnectionsParams, query: ConnectionsQuery, response: { 200: ConnectionPage } },
    errors: ['ORG_NOT_FOUND'],
    handler: ({ caller, params, query }) => connections.list(caller, params.orgId, query),
  }),
  route({
    id: 'getConnection',
    summary: 'Read a connection',
    tag,
    method: 'GET',
    url: `${url}/:connectionId`,
    access,
    limit,
    schema: { params: ConnectionParams, response: { 200: Connection } },
    errors: ['ORG_NOT_FOUND', 'CONNECTION_NOT_FOUND'],
    handler: ({ caller, params }) => connections.get(caller, params),
  }),
  route({
    id: 'updateConnection',
    summary: 'Change a connection; disabling it ends the sessions that began through it',
    tag,
    method: 'PATCH',
    url: `${url}/:connectionId`,
    access,
    limit,
    optionalBody: true,
    immutable: ['connectionId', 'organizationId', 'issuer'],
    schema: { params: ConnectionParams, body: ConnectionChange, response: { 200: Connection } },
    errors: ['ORG_NOT_FOUND', 'CONNECTION_NOT_FOUND', 'CONNECTION_ALREADY_EXISTS'],
    handler: ({ caller, params, body }) => connections.update(caller, params, body),
  }),
  route({
    id: 'deleteConnection',
    summary: 'Delete a connection; the sessions that began through it end at once',
    description: 'Invitations by e-mail that wait for a sign-in through it are deleted too. People stay.',
    tag,
    method: 'DELETE',
    url: `${url}/:connectionId`,
    access,
    limit,
    quota: 'free',
    schema: { params: ConnectionParams, response: { 204: Type.Null() } },
    errors: ['ORG_NOT_FOUND', 'CONNECTION_NOT_FOUND'],
    handler: ({ caller, params }) => connections.remove(caller, params),
  }),
];
