import Type, { type Static } from 'typebox';
import { pageSizes } from '../../contract/limits.ts';
import { literals, Nullable, PageOf, pageQuery, Timestamp, Uuid } from '../../contract/shapes.ts';

const fields = {
  credentialId: Uuid,
  clientId: Uuid,
  status: literals(['active', 'revoked']),
  createdAt: Timestamp,
  expiresAt: Nullable(Timestamp),
  revokedAt: Nullable(Timestamp),
};

/** As lists show it; the shape has no field for a secret. */
export const Credential = Type.Object(fields, { title: 'Credential' });
export type Credential = Static<typeof Credential>;

/** As creation and rotation show it, once. */
export const CredentialWithSecret = Type.Object(
  { ...fields, clientSecret: Type.String() },
  { title: 'CredentialWithSecret' },
);
export type CredentialWithSecret = Static<typeof CredentialWithSecret>;

export const AgentParams = Type.Object({ agentId: Uuid });
export const CredentialParams = Type.Object({ agentId: Uuid, credentialId: Uuid });

export const CredentialPage = PageOf(Credential, 'CredentialPage');

export const CredentialQuery = Type.Object({
  ...pageQuery(pageSizes.standard),
  status: Type.Optional(literals(['active', 'revoked'])),
});
export type CredentialQuery = Static<typeof CredentialQuery>;

/** For generation and for rotation. */
export const NewCredential = Type.Object(
  { expiresAt: Type.Optional(Nullable(Timestamp)) },
  { title: 'NewCredential', additionalProperties: false },
);
export type NewCredential = Static<typeof NewCredential>;
