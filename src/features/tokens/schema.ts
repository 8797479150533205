import Type, { type Static } from 'typebox';

/** Unknown parameters are ignored here, as RFC 6749 §3.2 demands; a repeated one is an array and so refused. */
export const TokenRequest = Type.Object(
  {
    grant_type: Type.Optional(Type.String({ maxLength: 128 })),
    client_id: Type.Optional(Type.String({ maxLength: 256 })),
    client_secret: Type.Optional(Type.String({ maxLength: 512 })),
    scope: Type.Optional(Type.String({ maxLength: 1024 })),
  },
  { title: 'TokenRequest' },
);
export type TokenRequest = Static<typeof TokenRequest>;

/** Credentials in an address end up in logs: refused, so that nobody gets used to it. */
export const TokenQuery = Type.Object({
  client_id: Type.Optional(Type.Never({ description: 'sent in the body, not in the address' })),
  client_secret: Type.Optional(Type.Never({ description: 'sent in the body, not in the address' })),
});

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
