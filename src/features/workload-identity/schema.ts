import type { Static } from 'typebox';
import { Check, Condition, Conditions } from '../../contract/conditions.ts';
import Type from '../../contract/json-schema.ts';
import { limits, pageSizes } from '../../contract/limits.ts';
import { audienceUri } from '../../contract/patterns.ts';
import { scopes } from '../../contract/scopes.ts';
import {
  Address,
  IssuerAddress,
  literals,
  Name,
  Nullable,
  PageOf,
  pageQuery,
  ScopeName,
  Timestamp,
  timeRangeQuery,
  Uuid,
} from '../../contract/shapes.ts';

export const providers = [
  'github',
  'gitlab',
  'kubernetes',
  'aws',
  'gcp',
  'azure',
  'spiffe',
  'custom',
] as const;
export type Provider = (typeof providers)[number];

const statuses = ['active', 'disabled'] as const;

/** The oldest token that any policy may take. */
export const maxAgeSeconds = 86_400;

const Audiences = Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), {
  minItems: 1,
  maxItems: 10,
  uniqueItems: true,
});
const Subject = Type.String({
  minLength: 1,
  maxLength: 1024,
  description: 'the exact subject, or a pattern in which * stands for any text without / and :',
});
const Scopes = Type.Array(literals(scopes), { maxItems: scopes.length, uniqueItems: true });

const PolicyResource = Type.Object(
  {
    identifier: Type.String({
      minLength: 1,
      maxLength: limits.resource.maxIdentifierLength,
      documentedPattern: audienceUri,
      description: 'the identifier of a registered API; each once',
    }),
    scopes: Type.Array(ScopeName, {
      minItems: 1,
      maxItems: limits.resource.maxScopes,
      uniqueItems: true,
      description: "scopes of the agent's grant",
    }),
  },
  { title: 'TrustPolicyResource', additionalProperties: false },
);
export type PolicyResource = Static<typeof PolicyResource>;

const Resources = Type.Array(PolicyResource, {
  maxItems: 10,
  description: "scopes of registered APIs, within the agent's grants; `scopes` are those of our own API",
});
const SingleUse = Type.Boolean({ description: 'each external token can be exchanged once' });
const ActsAsAdmin = Type.Boolean({
  description:
    'whether the workload has the role admin of its agent; without it the workload has the scopes of its token only. To set it, the role admin is needed',
});
const Age = Type.Integer({ minimum: 1, maximum: maxAgeSeconds });

export const TrustPolicy = Type.Object(
  {
    policyId: Uuid,
    organizationId: Uuid,
    agentId: Uuid,
    name: Type.String(),
    provider: literals(providers),
    issuer: Type.String(),
    jwksUri: Nullable(Type.String()),
    audiences: Type.Array(Type.String()),
    subject: Nullable(Type.String()),
    conditions: Type.Array(Condition),
    scopes: Type.Array(Type.String()),
    resources: Type.Array(PolicyResource),
    actsAsAdmin: Type.Boolean(),
    maxTokenAgeSeconds: Type.Integer(),
    singleUse: Type.Boolean(),
    status: literals(statuses),
    lastUsedAt: Nullable(Timestamp),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { title: 'TrustPolicy' },
);
export type TrustPolicy = Static<typeof TrustPolicy>;

export const TrustPolicyPage = PageOf(TrustPolicy, 'TrustPolicyPage');

export const NewTrustPolicy = Type.Object(
  {
    agentId: Uuid,
    name: Name,
    provider: literals(providers),
    issuer: Type.Optional(IssuerAddress),
    jwksUri: Type.Optional(Nullable(Address)),
    audiences: Audiences,
    subject: Type.Optional(
      Type.Union([Subject, Type.Null()], { examples: ['repo:talent/screener:ref:refs/heads/main'] }),
    ),
    conditions: Type.Optional(Conditions),
    scopes: Scopes,
    resources: Type.Optional(Resources),
    actsAsAdmin: Type.Optional(ActsAsAdmin),
    maxTokenAgeSeconds: Type.Optional(Age),
    singleUse: Type.Optional(SingleUse),
    status: Type.Optional(literals(statuses)),
  },
  { title: 'NewTrustPolicy', additionalProperties: false },
);
export type NewTrustPolicy = Static<typeof NewTrustPolicy>;

export const TrustPolicyChange = Type.Object(
  {
    name: Type.Optional(Name),
    issuer: Type.Optional(IssuerAddress),
    jwksUri: Type.Optional(Nullable(Address)),
    audiences: Type.Optional(Audiences),
    subject: Type.Optional(Nullable(Subject)),
    conditions: Type.Optional(Conditions),
    scopes: Type.Optional(Scopes),
    resources: Type.Optional(Resources),
    actsAsAdmin: Type.Optional(ActsAsAdmin),
    maxTokenAgeSeconds: Type.Optional(Age),
    singleUse: Type.Optional(SingleUse),
    status: Type.Optional(literals(statuses)),
  },
  { title: 'TrustPolicyChange', additionalProperties: false },
);
export type TrustPolicyChange = Static<typeof TrustPolicyChange>;

export const immutableFields = ['policyId', 'organizationId', 'agentId', 'provider', 'createdAt'] as const;

export const TrustPolicyParams = Type.Object({ policyId: Uuid });

export const TrustPolicyQuery = Type.Object({
  ...pageQuery(pageSizes.standard),
  ...timeRangeQuery('trust policies'),
  agentId: Type.Optional(Uuid),
  provider: Type.Optional(literals(providers)),
  status: Type.Optional(literals(statuses)),
});
export type TrustPolicyQuery = Static<typeof TrustPolicyQuery>;

export const TestedToken = Type.Object(
  { token: Type.String({ pattern: '^.', description: 'a JWT' }) },
  { title: 'TestedToken', additionalProperties: false },
);

export const TrustTest = Type.Object(
  {
    matched: Type.Boolean(),
    checks: Type.Array(Check),
    claims: Type.Object({}, { additionalProperties: true }),
    resources: Type.Optional(
      Type.Array(PolicyResource, {
        description:
          'only for a policy with `resources`: those that a matching token can get now, with the scopes that the agent still holds',
      }),
    ),
  },
  { title: 'TrustTest' },
);
export type TrustTest = Static<typeof TrustTest>;
