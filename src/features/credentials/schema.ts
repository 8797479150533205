import type { Static } from 'typebox';
import { exampleTime } from '../../contract/examples.ts';
import Type from '../../contract/json-schema.ts';
import { pageSizes } from '../../contract/limits.ts';
import { literals, Nullable, nameText, PageOf, pageQuery, Timestamp, Uuid } from '../../contract/shapes.ts';

/** People read it in lists: control and bidirectional formatting characters could imitate another name. */
const CredentialName = Type.String(nameText(64, '; not unique'));

const fields = {
  credentialId: Uuid,
  clientId: Uuid,
  name: Nullable(Type.String()),
  status: literals(['active', 'revoked']),
  createdAt: Timestamp,
  expiresAt: Nullable(Timestamp),
  revokedAt: Nullable(Timestamp),
  /** The last successful authentication of a client with it, accurate to a minute. */
  lastUsedAt: Nullable(Timestamp),
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

/** The example expires: a secret without an end is a choice, not a default to copy. */
const expiresAt = Type.Optional(Type.Union([Timestamp, Type.Null()], { examples: [exampleTime] }));

export const NewCredential = Type.Object(
  { expiresAt, name: Type.Optional(Nullable(CredentialName)) },
  { title: 'NewCredential', additionalProperties: false },
);
export type NewCredential = Static<typeof NewCredential>;

/** A rotated credential keeps its name. */
export const CredentialRotation = Type.Object(
  { expiresAt },
  { title: 'CredentialRotation', additionalProperties: false },
);
export type CredentialRotation = Static<typeof CredentialRotation>;
