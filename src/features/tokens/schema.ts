import Type, { type Static } from 'typebox';

/** Unknown parameters are ignored here, as RFC 6749 §3.2 demands; a repeated one is an array and so refused. */
export const TokenRequest = Type.Object(
  {
    grant_type: Type.Optional(Type.String({ maxLength: 128 })),
    client_id: Type.Optional(Type.String()),
    client_secret: Type.Optional(Type.String()),
    scope: Type.Optional(Type.String({ maxLength: 1024 })),
  },
  { title: 'TokenRequest' },
);
export type TokenRequest = Static<typeof TokenRequest>;

/** Nothing is read from the address; what must not stand there is refused by the service. */
export const TokenQuery = Type.Object({}, { additionalProperties: true });

export const AccessTokenResponse = Type.Object(
  {
    access_token: Type.String(),
    token_type: Type.Literal('Bearer'),
    expires_in: Type.Integer(),
    scope: Type.String(),
  },
  { title: 'AccessTokenResponse' },
);
export type AccessTokenResponse = Static<typeof AccessTokenResponse>;
