/** The forms of the token routes. Unknown parameters are ignored there, as RFC 6749 §3.2 demands. */
import type { Static } from 'typebox';
import Type from '../../../contract/json-schema.ts';
import { limits } from '../../../contract/limits.ts';
import { literals } from '../../../contract/shapes.ts';

const { maxScopes, maxScopeLength } = limits.resource;

export const ExchangeRequest = Type.Object(
  {
    grant_type: Type.Optional(Type.String({ maxLength: 128 })),
    subject_token: Type.Optional(Type.String()),
    subject_token_type: Type.Optional(Type.String({ maxLength: 128 })),
    requested_token_type: Type.Optional(Type.String({ maxLength: 128 })),
    actor_token: Type.Optional(Type.String()),
    client_id: Type.Optional(
      Type.String({
        maxLength: 128,
        description: 'the agent to become; send it always. Required with MULTI_TENANT=true',
      }),
    ),
    scope: Type.Optional(Type.String({ maxLength: maxScopes * (maxScopeLength + 1) })),
    resource: Type.Optional(Type.String({ maxLength: 1024 })),
    audience: Type.Optional(Type.String({ maxLength: 1024 })),
  },
  {
    title: 'OutsideTokenExchange',
    examples: [
      {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token: 'eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJodHRwczovL2lkcCJ9.c2lnbmF0dXJl',
        subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
        client_id: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
      },
    ],
  },
);
export type ExchangeRequest = Static<typeof ExchangeRequest>;

/** The query string is not read; the service refuses form fields in it. */
export const ExchangeQuery = Type.Object({}, { additionalProperties: true });

export const ExchangedToken = Type.Object(
  {
    access_token: Type.String(),
    issued_token_type: Type.String(),
    token_type: Type.Unsafe<'Bearer' | 'DPoP'>(literals(['Bearer', 'DPoP'])),
    expires_in: Type.Integer(),
    scope: Type.String(),
  },
  { title: 'ExchangedToken' },
);

export const idTokenSeconds = { default: 300, min: 60, max: 3_600 } as const;

export const IdTokenRequest = Type.Object(
  {
    audience: Type.String({
      maxLength: 1024,
      pattern: '^[!-~]+$',
      description: '1 to 1024 printable ASCII characters without spaces; the receiver of the token',
    }),
    ttl: Type.Optional(
      Type.String({
        // A form field, so a text: 60 to 3600.
        pattern: '^(?:[6-9][0-9]|[1-9][0-9]{2}|[12][0-9]{3}|3[0-5][0-9]{2}|3600)$',
        description: `a whole number of seconds from ${idTokenSeconds.min} to ${idTokenSeconds.max}: how long the token lives; less if an access token by a trust policy ends earlier`,
      }),
    ),
  },
  { title: 'IdTokenRequest', additionalProperties: false },
);
export type IdTokenRequest = Static<typeof IdTokenRequest>;

export const IdTokenResponse = Type.Object(
  {
    id_token: Type.String(),
    issued_token_type: Type.String({ examples: ['urn:ietf:params:oauth:token-type:id_token'] }),
    expires_in: Type.Integer({ examples: [300] }),
    audience: Type.String(),
  },
  { title: 'IdTokenResponse' },
);
export type IdTokenResponse = Static<typeof IdTokenResponse>;
