import type { Static } from 'typebox';
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
        role: literals(['admin', 'viewer']),
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

export const InvitationParams = Type.Object({ personId: Uuid });
