import type { Static } from 'typebox';
import { type ExternalTokenReason, externalTokenReasons } from '../../contract/external-tokens.ts';
import Type from '../../contract/json-schema.ts';
import { Address, IssuerAddress, literals, Name, Timestamp, Uuid } from '../../contract/shapes.ts';

const IdJag = Type.Boolean({
  description:
    'whether agents get identity assertions (ID-JAG) for this partner, about people for whom they act',
});

export const Partner = Type.Object(
  {
    id: Uuid,
    name: Type.String(),
    issuer: Type.String(),
    jwksUri: Type.String(),
    idJag: IdJag,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { title: 'FederationPartner' },
);
export type Partner = Static<typeof Partner>;

export const Partners = Type.Array(Partner);

export const NewPartner = Type.Object(
  { name: Name, issuer: IssuerAddress, jwksUri: Address, idJag: Type.Optional(IdJag) },
  { title: 'NewFederationPartner', additionalProperties: false },
);
export type NewPartner = Static<typeof NewPartner>;

export const PartnerChange = Type.Object(
  {
    name: Type.Optional(Name),
    issuer: Type.Optional(IssuerAddress),
    jwksUri: Type.Optional(Address),
    idJag: Type.Optional(IdJag),
  },
  { title: 'FederationPartnerChange', additionalProperties: false },
);
export type PartnerChange = Static<typeof PartnerChange>;

export const PartnerParams = Type.Object({ id: Uuid });

/** No maximum length: an oversized token is answered as invalid, not as a bad request. */
export const PartnerToken = Type.Object(
  {
    token: Type.String({ pattern: '^.', description: 'a JWT' }),
    audience: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1024,
        description: 'whom the token must be meant for; any audience will do when absent',
      }),
    ),
  },
  { title: 'PartnerToken', additionalProperties: false },
);
export type PartnerToken = Static<typeof PartnerToken>;

const reasons = Object.keys(externalTokenReasons) as ExternalTokenReason[];

export const Verification = Type.Object(
  {
    valid: Type.Boolean(),
    claims: Type.Optional(Type.Object({}, { additionalProperties: true })),
    reason: Type.Optional(literals(reasons)),
  },
  { title: 'PartnerTokenVerification' },
);
export type Verification =
  | { readonly valid: true; readonly claims: object }
  | { readonly valid: false; readonly reason: ExternalTokenReason };
