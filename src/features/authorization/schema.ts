import type { Static } from 'typebox';
import { AuthorizationDetailsOrNull } from '../../contract/authorization-details.ts';
import Type from '../../contract/json-schema.ts';
import { limits } from '../../contract/limits.ts';
import { literals, Nullable, ScopeName, Timestamp, Uuid } from '../../contract/shapes.ts';

/** Any parameters: a repeated one is an error of the protocol, which the endpoint answers in the protocol's own way. */
export const AuthorizationParameters = Type.Object({}, { additionalProperties: true });

export const RequestParams = Type.Object({ requestId: Uuid });

const clientName = Type.String({ examples: ['Example application'] });
const host = Nullable(
  Type.String({
    description: "the host of the client's document, without a port; null for a registered client",
    examples: ['app.example.com'],
  }),
);
const resourceName = Type.String({ examples: ['Orders'] });

export const ConsentQuestion = Type.Object(
  {
    requestId: Uuid,
    client: Type.Object({
      agentId: Nullable(Uuid),
      clientId: Type.String({ description: 'the id of an agent, or the address of a client document' }),
      name: clientName,
      host,
      redirectHost: Type.String({ examples: ['app.example.com'] }),
      registered: Type.Boolean({ description: 'by an administrator' }),
    }),
    resource: Type.Object({
      identifier: Type.String({ examples: ['https://orders.example.com'] }),
      name: resourceName,
    }),
    person: Type.Object({ personId: Uuid, name: Type.String(), email: Nullable(Type.String()) }),
    scopes: Type.Array(Type.Object({ name: Type.String(), description: Nullable(Type.String()) }), {
      description: 'the requested scopes that the person may lend',
    }),
    authorizationDetails: AuthorizationDetailsOrNull,
    authorizationDetailTypes: Type.Optional(
      Type.Array(
        Type.Object({ type: Type.String({ examples: ['payment'] }), description: Nullable(Type.String()) }),
        { description: 'those of the details; absent without details' },
      ),
    ),
    expiresAt: Timestamp,
  },
  { title: 'ConsentQuestion' },
);
export type ConsentQuestion = Static<typeof ConsentQuestion>;

const { minSeconds, maxSeconds } = limits.consent;

export const ConsentDecision = Type.Object(
  {
    decision: literals(['approve', 'deny']),
    scopes: Type.Optional(
      Type.Array(ScopeName, {
        maxItems: limits.resource.maxScopes,
        uniqueItems: true,
        description: 'may be empty only for a request with details of an action',
      }),
    ),
    expiresIn: Type.Optional(Type.Integer({ minimum: minSeconds, maximum: maxSeconds })),
    allowRedelegation: Type.Optional(Type.Boolean()),
  },
  { title: 'ConsentDecision', additionalProperties: false },
);
export type ConsentDecision = Static<typeof ConsentDecision>;

export const ConsentAnswer = Type.Object(
  { redirectTo: Type.String({ description: "the client's redirect URI with the answer" }) },
  { title: 'ConsentAnswer' },
);

export const SignInChoice = Type.Object(
  {
    requestId: Uuid,
    organizationNeeded: Type.Boolean({ description: 'the person has to name the organization first' }),
    connections: Type.Array(Type.Object({ connectionId: Uuid, name: Type.String() })),
    instance: Type.Boolean({ description: "whether the instance's own provider is a way to sign in" }),
    client: Type.Object({ name: clientName, host }),
    resource: Type.Object({ name: resourceName }),
  },
  { title: 'SignInChoice' },
);
export type SignInChoice = Static<typeof SignInChoice>;

export const OrganizationName = Type.Object(
  { organization: Type.String({ minLength: 1, maxLength: 255, description: 'the slug' }) },
  { title: 'OrganizationName', additionalProperties: false },
);
