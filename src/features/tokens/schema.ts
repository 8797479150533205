import type { Static } from 'typebox';
import { AuthorizationDetail } from '../../contract/authorization-details.ts';
import Type from '../../contract/json-schema.ts';
import { limits } from '../../contract/limits.ts';
import { clientFields, literals, Uuid } from '../../contract/shapes.ts';
import type { Grant } from './grant.ts';

/** All scopes of a resource, separated by spaces. */
const maxScopeText = limits.resource.maxScopes * (limits.resource.maxScopeLength + 1);

/** Unknown parameters are ignored here, as RFC 6749 §3.2 demands; a repeated one is an array and so refused. */
export const TokenRequest = Type.Object(
  {
    grant_type: Type.Optional(Type.String({ maxLength: 128 })),
    ...clientFields,
    scope: Type.Optional(Type.String({ maxLength: maxScopeText })),
    /** RFC 8707: the audience of the token; our own API when absent. */
    resource: Type.Optional(
      Type.String({
        maxLength: 1024,
        description: 'the identifier of an API, for a token with its scopes',
      }),
    ),
  },
  { title: 'TokenRequest' },
);
export type TokenRequest = Static<typeof TokenRequest>;

const exampleRequest = {
  grant_type: 'client_credentials',
  client_id: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
  client_secret: 'cs_9TpG2b7nQx4LrW1kZv8sYd3mHf6jCa5e',
};

/** With the fields of all grants. */
export const tokenRequestOf = (grants: readonly Grant[]) =>
  Type.Object(Object.assign({}, TokenRequest.properties, ...grants.map(({ fields }) => fields)), {
    title: 'TokenRequest',
    examples: [exampleRequest],
  }) as typeof TokenRequest;

/** Nothing is read from the query string; endpoint/parse.ts refuses form fields in it. */
export const TokenQuery = Type.Object({}, { additionalProperties: true });

/** The first is the example of the OpenAPI document. */
export const TokenType = Type.Unsafe<'Bearer' | 'DPoP'>({
  ...literals(['Bearer', 'DPoP']),
  description: '`DPoP`: bound to the key of the proof in the header `DPoP` (RFC 9449)',
});

export const AccessTokenResponse = Type.Object(
  {
    access_token: Type.String(),
    token_type: literals(['Bearer', 'DPoP', 'N_A']),
    expires_in: Type.Integer(),
    scope: Type.String(),
    /** RFC 8693 §2.2.1. */
    issued_token_type: Type.Optional(Type.String()),
    refresh_token: Type.Optional(
      Type.String({
        description: 'with authorization_code and refresh_token: used once, for the next token',
        examples: ['csr_7xM1…'],
      }),
    ),
    authorization_details: Type.Optional(
      Type.Array(AuthorizationDetail, { description: 'what exactly was approved (RFC 9396)' }),
    ),
  },
  { title: 'AccessTokenResponse' },
);

const { client_id, client_secret, client_assertion_type, client_assertion } = TokenRequest.properties;

/**
 * Unknown hints are ignored (RFC 7009 §2.1, RFC 7662 §2.1). A pattern says that the token is not empty: `minLength` would count every
 * character of it. The client may authenticate by these fields, by HTTP Basic, or by an access token.
 */
const question = {
  token: Type.String({ pattern: '^[\\s\\S]', description: 'a token, not empty' }),
  token_type_hint: Type.Optional(Type.String({ description: 'accepted and ignored' })),
  client_id,
  client_secret,
  client_assertion_type,
  client_assertion,
};

export const TokenQuestion = Type.Object(question, { title: 'TokenQuestion' });
export const IntrospectionRequest = Type.Object(question, { title: 'IntrospectionRequest' });

/** An inactive token has no other field. */
export const Introspection = Type.Object(
  {
    active: Type.Boolean(),
    sub: Type.Optional(Type.String()),
    client_id: Type.Optional(Type.String({ description: 'the agentId' })),
    scope: Type.Optional(Type.String()),
    token_type: Type.Optional(TokenType),
    iat: Type.Optional(Type.Integer()),
    exp: Type.Optional(Type.Integer()),
    aud: Type.Optional(
      Type.String({ description: 'the issuer for our own API, otherwise the identifier of yours' }),
    ),
    iss: Type.Optional(Type.String()),
    jti: Type.Optional(Type.String()),
    organization_id: Type.Optional(Type.String({ description: "the agent's organization" })),
    cnf: Type.Optional(
      Type.Object(
        { jkt: Type.String({ examples: ['0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I'] }) },
        {
          description: 'of a token that is bound to a key: the RFC 7638 thumbprint of the key (RFC 9449 §6)',
        },
      ),
    ),
    /** Of a delegated token: the actor, with earlier actors nested in it (RFC 8693 §4.1), and the chain. */
    act: Type.Optional(Type.Object({ sub: Type.String() }, { additionalProperties: true })),
    chain_id: Type.Optional(Type.String()),
    /** Of a token whose subject is a person. */
    sub_profile: Type.Optional(Type.Literal('person')),
    client_uri: Type.Optional(
      Type.String({
        description: 'the address of the metadata document by which the client came',
        examples: ['https://app.example.com/client.json'],
      }),
    ),
    authorization_details: Type.Optional(Type.Array(AuthorizationDetail)),
  },
  { title: 'Introspection' },
);
export type Introspection = Static<typeof Introspection>;

/** The proxy's part of a request to forward-auth. */
export const ForwardAuthQuery = Type.Object(
  {
    resource: Type.String({
      maxLength: 1024,
      pattern: '^https?://[!-~]+$',
      description: 'the identifier of the API behind the proxy: the audience of its tokens',
      examples: ['https://orders.example.com'],
    }),
    scope: Type.Optional(
      Type.String({
        maxLength: maxScopeText,
        pattern: '^[!#-\\[\\]-~]+( [!#-\\[\\]-~]+)*$',
        description: 'the scopes that the request needs, all of them, with one blank between two',
        examples: ['orders:read'],
      }),
    ),
    organization_id: Type.Optional(
      Type.String({ ...Uuid, description: 'only tokens of agents of this organization (organizationId)' }),
    ),
  },
  { additionalProperties: false },
);
export type ForwardAuthQuery = Static<typeof ForwardAuthQuery>;

export const PreviewRequest = Type.Object(
  {
    agentId: Uuid,
    resource: Type.Optional(
      Type.String({ maxLength: 1024, description: 'as in a token request; our own API when absent' }),
    ),
    scope: Type.Optional(Type.String({ maxLength: maxScopeText, description: 'as in a token request' })),
  },
  { title: 'TokenPreviewRequest', additionalProperties: false },
);
export type PreviewRequest = Static<typeof PreviewRequest>;

/** Either the claims or the refusal. */
export const TokenPreview = Type.Object(
  {
    allowed: Type.Boolean(),
    claims: Type.Optional(
      Type.Object(
        {},
        {
          additionalProperties: true,
          description:
            'the claims that the token would have now; its id (jti), credential_id and key (cnf.jkt) are null',
        },
      ),
    ),
    proofRequired: Type.Optional(
      Type.Boolean({
        description:
          'true: the agent demands a DPoP proof in each token request (its dpopBoundAccessTokens is true)',
      }),
    ),
    error: Type.Optional(
      Type.String({ description: 'the error that POST /token would answer', examples: ['invalid_target'] }),
    ),
    reason: Type.Optional(Type.String({ examples: ['there is no grant for this API'] })),
  },
  { title: 'TokenPreview' },
);
export type TokenPreview = Static<typeof TokenPreview>;

export const Nothing = Type.Object({}, { title: 'Nothing' });
