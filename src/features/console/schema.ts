import type { Static } from 'typebox';
import Type from '../../contract/json-schema.ts';
import { planTiers } from '../../contract/limits.ts';
import { literals, Nullable, Timestamp, Uuid } from '../../contract/shapes.ts';

/** `clientId` and `clientSecret`, or `code`. */
export const SignIn = Type.Object(
  {
    clientId: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    clientSecret: Type.Optional(Type.String({ minLength: 1, maxLength: 1024 })),
    code: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description: 'of a one-time link, after #code=, or for the command line',
      }),
    ),
    codeVerifier: Type.Optional(
      Type.String({
        minLength: 43,
        maxLength: 128,
        pattern: '^[A-Za-z0-9._~-]+$',
        description: 'with a code for the command line that was made with a challenge (RFC 7636)',
      }),
    ),
  },
  { title: 'SignIn', additionalProperties: false },
);
export type SignIn = Static<typeof SignIn>;

export const Session = Type.Object(
  {
    agentId: Nullable(Type.String({ ...Uuid, description: 'null for a member' })),
    agentName: Nullable(Type.String({ description: 'the e-mail of the agent' })),
    organizationId: Uuid,
    organizationName: Type.String(),
    organizationSlug: Type.String({ description: 'tells organizations of the same name apart' }),
    planTier: literals(planTiers),
    role: literals(['admin', 'member', 'viewer', 'none']),
    scopes: Type.Array(Type.String()),
    person: Nullable(Type.Object({ personId: Uuid, name: Type.String(), email: Nullable(Type.String()) })),
    /** The latest end of the session: earlier after half an hour without a request. */
    expiresAt: Timestamp,
    multiTenant: Type.Boolean(),
    /** Not a production instance: the console offers demonstrations. */
    dev: Type.Boolean(),
  },
  { title: 'Session' },
);
export type Session = Static<typeof Session>;

export const Link = Type.Object(
  {
    url: Type.String({ examples: ['http://localhost:3000/console#code=csl_7xM1…'] }),
    code: Type.String({ examples: ['csl_7xM1…'] }),
    expiresAt: Timestamp,
  },
  { title: 'ConsoleLink' },
);
export type Link = Static<typeof Link>;

export const NewCommandLineCode = Type.Object(
  {
    codeChallenge: Type.Optional(
      Type.String({
        minLength: 43,
        maxLength: 43,
        pattern: '^[A-Za-z0-9_-]+$',
        description: 'of the command line that waits for the code: S256 (RFC 7636)',
      }),
    ),
  },
  { title: 'NewCommandLineCode', additionalProperties: false },
);

export const CommandLineCode = Type.Object(
  {
    code: Type.String({ examples: ['csc_7xM1…'] }),
    expiresAt: Timestamp,
    expiresIn: Type.Integer({ description: 'seconds, for a browser whose clock is wrong' }),
  },
  { title: 'CommandLineCode' },
);
export type CommandLineCode = Static<typeof CommandLineCode>;

export const FileParams = Type.Object({ '*': Type.String() });
