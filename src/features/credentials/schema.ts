import Type, { type Static } from 'typebox';
import { literals, Nullable, Timestamp, Uuid } from '../../contract/shapes.ts';

const fields = {
  credentialId: Uuid,
  clientId: Uuid,
  status: literals(['active', 'revoked']),
  createdAt: Timestamp,
  expiresAt: Nullable(Timestamp),
  revokedAt: Nullable(Timestamp),
};

/** As lists show it: there is no place for a secret in this shape. */
export const Credential = Type.Object(fields, { title: 'Credential' });
export type Credential = Static<typeof Credential>;

/** As creation and rotation show it, once. */
export const CredentialWithSecret = Type.Object(
  { ...fields, clientSecret: Type.String() },
  { title: 'CredentialWithSecret' },
);
export type CredentialWithSecret = Static<typeof CredentialWithSecret>;

export const CredentialParams = Type.Object({ agentId: Uuid });

export const NewCredential = Type.Object(
  { expiresAt: Type.Optional(Timestamp) },
  { title: 'NewCredential', additionalProperties: false },
);
export type NewCredential = Static<typeof NewCredential>;
