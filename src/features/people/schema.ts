import type { Static } from 'typebox';
import Type from '../../contract/json-schema.ts';
import { pageSizes } from '../../contract/limits.ts';
import {
  IssuerAddress,
  literals,
  Nullable,
  nameText,
  PageOf,
  pageQuery,
  Timestamp,
  Uuid,
} from '../../contract/shapes.ts';

export const personRoles = ['admin', 'viewer', 'member'] as const;
export type PersonRole = (typeof personRoles)[number];

const Role = literals(personRoles);

/** The audit log shows it: control and bidirectional formatting characters could imitate another name. */
const PersonName = Type.String({ ...nameText(100, '; not unique'), examples: ['Ada Lovelace'] });

/** OpenID Connect Core §2: at most 255 ASCII characters, compared as they are. */
export const Subject = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '^[ -~]+$',
  description: 'the `sub` of the person at the provider: 1 to 255 printable ASCII characters',
  examples: ['248289761001'],
});

/** ASCII, so that no two letters are equal in lower case by accident. */
export const Email = Type.String({
  format: 'email',
  maxLength: 254,
  pattern: '^[!-~]+$',
  description: 'an e-mail address in ASCII, of at most 254 characters',
  examples: ['ada@example.com'],
});

const Status = literals(['active', 'suspended']);

export const Person = Type.Object(
  {
    personId: Uuid,
    organizationId: Uuid,
    issuer: Nullable(
      Type.String({ description: 'of the OpenID provider; null while an invitation by e-mail waits' }),
    ),
    subject: Nullable(
      Type.String({
        description: 'the `sub` of the person at the provider; null while an invitation by e-mail waits',
        examples: ['248289761001'],
      }),
    ),
    name: Type.String({ examples: ['Ada Lovelace'] }),
    role: Role,
    agentId: Nullable(
      Type.String({ ...Uuid, description: 'the agent through which the person acts; null for a member' }),
    ),
    email: Nullable(Type.String({ description: 'as the provider has verified it, or as invited' })),
    connectionId: Nullable(
      Type.String({ ...Uuid, description: 'the connection of the last sign-in, or of the invitation' }),
    ),
    status: Status,
    createdAt: Timestamp,
    updatedAt: Timestamp,
    lastSignInAt: Nullable(Timestamp),
  },
  { title: 'Person' },
);
export type Person = Static<typeof Person>;

export const PersonPage = PageOf(Person, 'PersonPage');

export const NewPerson = Type.Object(
  {
    issuer: Type.Optional(IssuerAddress),
    subject: Type.Optional(Subject),
    email: Type.Optional(Email),
    connectionId: Type.Optional(Uuid),
    name: PersonName,
    role: Role,
    agentId: Type.Optional(Nullable(Uuid)),
  },
  {
    title: 'NewPerson',
    additionalProperties: false,
    examples: [
      {
        issuer: 'https://idp.example.com',
        subject: '248289761001',
        name: 'Ada Lovelace',
        role: 'viewer',
        agentId: '7c9e6679-7425-40de-944b-e07fc1f90ae7',
      },
    ],
  },
);
export type NewPerson = Static<typeof NewPerson>;

export const PersonChange = Type.Object(
  {
    name: Type.Optional(PersonName),
    role: Type.Optional(Role),
    agentId: Type.Optional(Nullable(Uuid)),
    status: Type.Optional(Status),
  },
  { title: 'PersonChange', additionalProperties: false },
);
export type PersonChange = Static<typeof PersonChange>;

export const PeopleParams = Type.Object({ orgId: Uuid });

export const PersonParams = Type.Object({ orgId: Uuid, personId: Uuid });
export type PersonParams = Static<typeof PersonParams>;

export const PeopleQuery = Type.Object({
  ...pageQuery(pageSizes.standard),
  role: Type.Optional(Role),
  q: Type.Optional(Type.String({ maxLength: 254, description: 'a part of the name or the e-mail address' })),
});
export type PeopleQuery = Static<typeof PeopleQuery>;
