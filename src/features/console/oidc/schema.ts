import type { Static } from 'typebox';
import { Check } from '../../../contract/conditions.ts';
import Type from '../../../contract/json-schema.ts';
import { literals, Nullable, Uuid } from '../../../contract/shapes.ts';

export const SignInOptions = Type.Object(
  {
    oidc: Nullable(
      Type.Object({
        issuer: Type.String(),
        name: Type.String({ examples: ['Example Login'] }),
      }),
    ),
  },
  { title: 'SignInOptions' },
);
export type SignInOptions = Static<typeof SignInOptions>;

/** Any: the handler ignores an unusable one, because a person has followed a link. */
export const StartQuery = Type.Object({}, { additionalProperties: true });

/** Providers add parameters of their own. */
export const CallbackQuery = Type.Object({}, { additionalProperties: true });

export const ProviderIdentity = Type.Object(
  {
    issuer: Type.String(),
    subject: Type.String({ examples: ['248289761001'] }),
    choices: Type.Array(
      Type.Object({
        personId: Uuid,
        organizationId: Uuid,
        organizationName: Type.String({ examples: ['Talent'] }),
        organizationSlug: Type.String({ examples: ['talent'] }),
        firstVisit: Type.Boolean({ description: 'the person has never signed in to it' }),
        role: literals(['admin', 'viewer', 'member']),
      }),
    ),
  },
  { title: 'ProviderIdentity' },
);
export type ProviderIdentity = Static<typeof ProviderIdentity>;

export const Choice = Type.Object(
  { personId: Uuid },
  { title: 'OrganizationChoice', additionalProperties: false },
);
export type Choice = Static<typeof Choice>;

export const TestedConnection = Type.Object(
  { connectionId: Uuid },
  { title: 'TestedConnection', additionalProperties: false },
);

export const StartedTest = Type.Object(
  { url: Type.String({ description: "the provider's page for the browser" }) },
  { title: 'StartedConnectionTest' },
);

export const ConnectionTest = Type.Object(
  {
    connectionId: Uuid,
    claims: Type.Object({}, { additionalProperties: true, description: 'of the ID token' }),
    checks: Type.Array(Check, { description: 'one per condition of the connection' }),
    admitted: Type.Boolean({ description: 'the ID token meets all conditions' }),
  },
  { title: 'ConnectionTest' },
);
export type ConnectionTest = Static<typeof ConnectionTest>;

export const InvitationParams = Type.Object({ personId: Uuid });
