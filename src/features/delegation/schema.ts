import type { Static } from 'typebox';
import { AuthorizationDetailsOrNull } from '../../contract/authorization-details.ts';
import Type from '../../contract/json-schema.ts';
import { limits, pageSizes } from '../../contract/limits.ts';
import { audienceUri } from '../../contract/patterns.ts';
import {
  literals,
  Nullable,
  PageOf,
  pageQuery,
  ScopeName,
  Timestamp,
  timeRangeQuery,
  Uuid,
} from '../../contract/shapes.ts';

const chainStatuses = ['active', 'expired', 'revoked'] as const;
export type ChainStatus = (typeof chainStatuses)[number];

const subjectTypes = ['agent', 'person'] as const;
/** `consent`: in a browser. `approval`: out of band. `assertion`: by the company's identity provider. */
const origins = ['api', 'consent', 'approval', 'assertion', 'console'] as const;

const link = {
  chainId: Uuid,
  parentChainId: Nullable(Uuid),
  rootChainId: Uuid,
  depth: Type.Integer(),
  subjectType: literals(subjectTypes),
  subjectId: Type.Unsafe<string>({
    ...Uuid,
    description: 'the agent or the person (`subjectType`) that the chain begins with',
  }),
  delegatorType: literals(subjectTypes),
  delegatorId: Type.Unsafe<string>({ ...Uuid, description: 'an agent, or a person (`delegatorType`)' }),
  delegateeId: Uuid,
  scopes: Type.Array(Type.String(), { description: 'the scopes that this link delegates, at most' }),
  resource: Nullable(
    Type.Array(Type.String(), {
      description: 'the audiences it may be redeemed for; null: our own API only',
    }),
  ),
  purpose: Nullable(Type.String()),
  allowRedelegation: Type.Boolean(),
  origin: Type.Unsafe<(typeof origins)[number]>({
    ...literals(origins),
    description: 'how it was made',
  }),
  authorizationDetails: AuthorizationDetailsOrNull,
  status: literals(chainStatuses),
  createdAt: Timestamp,
  expiresAt: Timestamp,
  revokedAt: Nullable(Timestamp),
};

export const DelegationChain = Type.Object(link, { title: 'DelegationChain' });
export type DelegationChain = Static<typeof DelegationChain>;

export const DelegationPage = PageOf(DelegationChain, 'DelegationPage');

export const CreatedDelegation = Type.Object(
  {
    ...link,
    delegationToken: Type.String({ description: 'for the delegatee to redeem; shown this once' }),
  },
  { title: 'CreatedDelegation' },
);
export type CreatedDelegation = Static<typeof CreatedDelegation>;

const chain = Type.Array(DelegationChain, { description: 'every link, root first' });

const effectiveScopes = Type.Array(Type.String({ examples: ['agents:read'] }), {
  description:
    'the scopes that every link delegates and the subject may hold now, by its allowedScopes or its grant; an empty list: nothing can be redeemed now',
});

const effectiveLink = { ...link, effectiveScopes };

export const DelegationWithLinks = Type.Object(
  {
    ...effectiveLink,
    chain: Type.Array(Type.Object(effectiveLink, { title: 'EffectiveDelegation' }), {
      description: 'every link, root first',
    }),
  },
  { title: 'DelegationWithLinks' },
);
export type DelegationWithLinks = Static<typeof DelegationWithLinks>;

const { minSeconds, maxSeconds, defaultSeconds } = limits.delegation;

export const NewDelegation = Type.Object(
  {
    delegateeId: Uuid,
    delegatorId: Type.Optional(
      Type.Unsafe<string>({
        ...Uuid,
        description:
          'the agent whose scopes are lent; left out: your own. For another agent you need `agents:write`, the role admin in its organization, and the right to give it a secret; a public client, or one with a metadata document, cannot be named',
      }),
    ),
    scopes: Type.Array(ScopeName, {
      minItems: 1,
      maxItems: limits.resource.maxScopes,
      uniqueItems: true,
      description:
        'scopes of our own API that your token holds, or scopes of the registered API that you hold by a grant; the delegatee needs none of them itself. admin:orgs cannot be delegated',
    }),
    expiresIn: Type.Integer({
      minimum: minSeconds,
      maximum: maxSeconds,
      default: defaultSeconds,
      description:
        'seconds; the delegation ends no later than the one that it is passed on from, and no later than your token if you got it by a trust policy',
    }),
    resource: Type.Optional(
      Nullable(
        Type.Array(
          Type.String({
            maxLength: 1024,
            documentedPattern: audienceUri,
            description: 'an absolute http(s) URI without a fragment',
          }),
          {
            minItems: 1,
            maxItems: 10,
            uniqueItems: true,
            description:
              'the audiences a token may be redeemed for, within those of the delegation you hold; a registered API stands alone. null or left out: our own API only; left out with parentToken: the only audience of that delegation',
          },
        ),
      ),
    ),
    parentToken: Type.Optional(
      Type.String({
        pattern: '^.',
        maxLength: limits.delegation.maxTokenLength,
        description:
          'the delegation token of a delegation that you hold and pass on, or an access token that you got by it; needed for a delegation of an API, whose access tokens do not open our API',
      }),
    ),
    purpose: Type.Optional(
      Nullable(
        Type.String({
          minLength: 1,
          maxLength: 256,
          description: 'explains the delegation to readers of the audit log',
        }),
      ),
    ),
    allowRedelegation: Type.Boolean({ default: false, description: 'the delegatee may pass it on' }),
  },
  { title: 'NewDelegation', additionalProperties: false },
);
export type NewDelegation = Static<typeof NewDelegation>;

export const DelegationParams = Type.Object({ chainId: Uuid });

export const DelegationQuery = Type.Object({
  ...pageQuery(pageSizes.standard),
  ...timeRangeQuery('delegations'),
  role: Type.Unsafe<'delegator' | 'delegatee' | 'any'>({
    type: 'string',
    enum: ['delegator', 'delegatee', 'any'],
    default: 'any',
    description:
      'whether you, or the agent of agentId, gave the delegation, was given it, or either; without effect with organizationId alone',
  }),
  status: Type.Optional(literals(chainStatuses)),
  agentId: Type.Optional(
    Type.Unsafe<string>({
      ...Uuid,
      description:
        'the delegations of this agent of your organization, also as the subject; needs audit:read',
    }),
  ),
  subjectType: Type.Optional(
    Type.Unsafe<'agent' | 'person'>({
      ...literals(subjectTypes),
      description: "your organization's delegations that begin with an agent or a person; needs audit:read",
    }),
  ),
  personId: Type.Optional(
    Type.Unsafe<string>({
      ...Uuid,
      description: "your organization's delegations that begin with this person; needs audit:read",
    }),
  ),
  organizationId: Type.Optional(
    Type.Unsafe<string>({
      ...Uuid,
      description: 'all delegations of your organization, or for the operator of this one; needs audit:read',
    }),
  ),
});
export type DelegationQuery = Static<typeof DelegationQuery>;

/** A chain that a person has begun, as the person sees it. */
export const Consent = Type.Object(
  {
    ...link,
    effectiveScopes,
    agentName: Type.String({ description: 'the e-mail of the agent' }),
    clientUri: Nullable(Type.String({ description: 'of a client that came by a metadata document' })),
    clientName: Nullable(Type.String({ description: 'as its document names it' })),
    resourceName: Nullable(Type.String({ description: 'null: our own API' })),
    lastUsedAt: Nullable(Timestamp),
  },
  { title: 'Consent' },
);
export type Consent = Static<typeof Consent>;
export const ConsentPage = PageOf(Consent, 'ConsentPage');

export const ConsentQuery = Type.Object({
  ...pageQuery(pageSizes.standard),
  status: Type.Unsafe<ChainStatus>({ ...literals(chainStatuses), default: 'active' }),
});
export type ConsentQuery = Static<typeof ConsentQuery>;

export const DescendantQuery = Type.Object({
  ...pageQuery(pageSizes.standard),
  status: Type.Unsafe<ChainStatus>({
    ...literals(chainStatuses),
    default: 'active',
    description: 'those that a revocation would end are active',
  }),
});
export type DescendantQuery = Static<typeof DescendantQuery>;

export const DelegationQuestion = Type.Object(
  {
    token: Type.String({
      pattern: '^.',
      maxLength: limits.delegation.maxTokenLength,
      description: 'a delegation token, or an access token of a delegation',
    }),
  },
  { title: 'DelegationQuestion', additionalProperties: false },
);

export const VerifiedDelegation = Type.Object(
  {
    valid: Type.Literal(true),
    chainId: Uuid,
    subjectId: Uuid,
    actorId: Uuid,
    scopes: effectiveScopes,
    depth: Type.Integer(),
    expiresAt: Timestamp,
    chain,
  },
  { title: 'VerifiedDelegation' },
);
export type VerifiedDelegation = Static<typeof VerifiedDelegation>;
