import type { Static } from 'typebox';
import Type from '../../contract/json-schema.ts';
import { Timestamp, Uuid } from '../../contract/shapes.ts';

const cardFormats = ['a2a', 'oasf', 'badge'] as const;
type CardFormat = (typeof cardFormats)[number];

const DidUrl = Type.String({
  pattern: '^did:web:[^\\s#]+(#\\S+)?$',
  examples: ['did:web:id.talent.example.com:agents:7c9e6679-7425-40de-944b-e07fc1f90ae7'],
});

const PublicKeyJwk = Type.Object(
  {
    kty: Type.String(),
    crv: Type.Optional(Type.String()),
    x: Type.Optional(Type.String()),
    y: Type.Optional(Type.String()),
    n: Type.Optional(Type.String()),
    e: Type.Optional(Type.String()),
    use: Type.Optional(Type.String()),
    kid: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
);

export const DidDocument = Type.Object(
  {
    '@context': Type.Array(Type.String()),
    id: DidUrl,
    controller: DidUrl,
    verificationMethod: Type.Array(
      Type.Object({
        id: DidUrl,
        type: Type.String({ examples: ['JsonWebKey2020'] }),
        controller: DidUrl,
        publicKeyJwk: PublicKeyJwk,
      }),
    ),
    authentication: Type.Array(DidUrl),
    assertionMethod: Type.Optional(Type.Array(DidUrl)),
    service: Type.Optional(
      Type.Array(
        Type.Object({
          id: DidUrl,
          type: Type.String({ examples: ['AgentCard'] }),
          serviceEndpoint: Type.String({ format: 'uri' }),
        }),
      ),
    ),
    agntcy: Type.Optional(
      Type.Object({
        agentId: Uuid,
        agentType: Type.String(),
        capabilities: Type.Array(Type.String()),
        deploymentEnv: Type.String(),
        owner: Type.String(),
        version: Type.String(),
      }),
    ),
  },
  { title: 'DidDocument' },
);
export type DidDocument = Static<typeof DidDocument>;

export const DidResolution = Type.Object(
  {
    didDocument: DidDocument,
    didDocumentMetadata: Type.Object({
      created: Timestamp,
      updated: Timestamp,
      deactivated: Type.Boolean(),
    }),
    didResolutionMetadata: Type.Object({ contentType: Type.String(), retrieved: Timestamp }),
  },
  { title: 'DidResolution' },
);
export type DidResolution = Static<typeof DidResolution>;

export const DidParams = Type.Object({ agentId: Uuid });

export const CardQuery = Type.Object({
  format: Type.Optional(
    Type.Unsafe<CardFormat>({
      type: 'string',
      enum: [...cardFormats],
      description: 'a published format, signed; the plain card when left out',
    }),
  ),
});
