import type { Static } from 'typebox';
import { Condition, Conditions } from '../../contract/conditions.ts';
import Type from '../../contract/json-schema.ts';
import { pageSizes } from '../../contract/limits.ts';
import {
  IssuerAddress,
  literals,
  nameText,
  PageOf,
  pageQuery,
  ScopeName,
  Timestamp,
  Uuid,
} from '../../contract/shapes.ts';

const Status = literals(['active', 'disabled']);

const ConnectionName = Type.String({ ...nameText(64), examples: ['Example Login'] });

const ClientId = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '^[ -~]+$',
  description: 'of this instance at the provider: 1 to 255 printable ASCII characters',
  examples: ['countersign'],
});

const ClientSecret = Type.String({
  minLength: 1,
  maxLength: 1024,
  pattern: '^[ -~]+$',
  description:
    'of this instance at the provider: 1 to 1024 printable ASCII characters; no answer contains it',
});

const Scopes = Type.Array(ScopeName, {
  minItems: 1,
  maxItems: 20,
  uniqueItems: true,
  description: 'the scopes that a sign-in asks the provider for; `openid` is one of them',
  examples: [['openid', 'email', 'profile']],
});

const IdJag = Type.Boolean({
  description:
    'whether identity assertions (ID-JAG) of this provider give access to the APIs of the organization, for its people, without a consent page',
});

export const Connection = Type.Object(
  {
    connectionId: Uuid,
    organizationId: Uuid,
    name: Type.String({ examples: ['Example Login'] }),
    issuer: Type.String({ description: 'of the OpenID provider' }),
    clientId: Type.String({ examples: ['countersign'] }),
    scopes: Type.Array(Type.String()),
    conditions: Type.Array(Condition),
    status: Status,
    idJag: IdJag,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { title: 'Connection' },
);
export type Connection = Static<typeof Connection>;

export const ConnectionPage = PageOf(Connection, 'ConnectionPage');

export const NewConnection = Type.Object(
  {
    name: ConnectionName,
    issuer: IssuerAddress,
    clientId: ClientId,
    clientSecret: ClientSecret,
    scopes: Type.Optional(Scopes),
    conditions: Type.Optional(Conditions),
    idJag: Type.Optional(IdJag),
  },
  { title: 'NewConnection', additionalProperties: false },
);
export type NewConnection = Static<typeof NewConnection>;

export const ConnectionChange = Type.Object(
  {
    name: Type.Optional(ConnectionName),
    clientId: Type.Optional(ClientId),
    clientSecret: Type.Optional(ClientSecret),
    scopes: Type.Optional(Scopes),
    conditions: Type.Optional(Conditions),
    status: Type.Optional(Status),
    idJag: Type.Optional(IdJag),
  },
  { title: 'ConnectionChange', additionalProperties: false },
);
export type ConnectionChange = Static<typeof ConnectionChange>;

export const ConnectionsParams = Type.Object({ orgId: Uuid });

export const ConnectionParams = Type.Object({ orgId: Uuid, connectionId: Uuid });
export type ConnectionParams = Static<typeof ConnectionParams>;

export const ConnectionsQuery = Type.Object(pageQuery(pageSizes.standard));
export type ConnectionsQuery = Static<typeof ConnectionsQuery>;
