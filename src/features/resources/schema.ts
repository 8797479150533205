import type { Static } from 'typebox';
import {
  AuthorizationDetailTypes,
  NewAuthorizationDetailTypes,
} from '../../contract/authorization-details.ts';
import Type from '../../contract/json-schema.ts';
import { limits, pageSizes } from '../../contract/limits.ts';
import { resourceIdentifier } from '../../contract/patterns.ts';
import {
  Grant,
  literals,
  Nullable,
  nameText,
  PageOf,
  pageQuery,
  Timestamp,
  timeRangeQuery,
  Uuid,
} from '../../contract/shapes.ts';
import { resourceClaims } from './audience-scopes.ts';

/** A TXT record, a text on the host itself, or the word of an operator. */
const verificationMethods = ['dns', 'well-known', 'operator'] as const;
export type VerificationMethod = (typeof verificationMethods)[number];

const { maxIdentifierLength, maxScopes, maxScopeLength, minTokenSeconds, maxTokenSeconds } = limits.resource;

/** Checked further by identifier.ts. */
const Identifier = Type.String({
  minLength: 1,
  maxLength: maxIdentifierLength,
  documentedPattern: resourceIdentifier,
  description:
    "the API's address, which becomes the audience of its tokens: an absolute https:// URI in canonical form, without fragment, query or credentials (http:// for localhost and loopback addresses only)",
});
const ResourceName = Type.String(nameText(128));
const Description = Type.String({ maxLength: 1_024, description: 'text for people' });
/** RFC 6749 §3.3, `scope-token`. */
const ScopeName = Type.String({
  minLength: 1,
  maxLength: maxScopeLength,
  pattern: '^[!#-\\[\\]-~]+$',
  description: `1 to ${maxScopeLength} printable ASCII characters without blanks, " and \\`,
});
/** The resource that one example registers is the one that the others share and grant. */
const exampleScope = 'resumes:read';
const TokenLifetime = Type.Integer({
  minimum: minTokenSeconds,
  maximum: maxTokenSeconds,
  description: "how long the API's tokens are valid, in seconds",
});
const Claims = Type.Array(literals(resourceClaims), {
  maxItems: resourceClaims.length,
  uniqueItems: true,
  description:
    "the agent's fields that the API's tokens carry as claims; who may change them is restricted while the agent has a grant",
});

const PeopleScopes = Type.Array(ScopeName, {
  maxItems: maxScopes,
  uniqueItems: true,
  description: 'the scopes that every person of the organization may lend to an agent; none by default',
});
const Approvers = Type.Array(Uuid, {
  maxItems: limits.approversPerResource,
  uniqueItems: true,
  description: 'people of the organization (personIds) who, like admins, may lend every scope',
});

const ResourceScope = Type.Object(
  { name: Type.String({ examples: [exampleScope] }), description: Nullable(Type.String()) },
  { title: 'ResourceScope' },
);

/** The proof that the owner controls the host of the identifier. */
const Verification = Type.Object(
  {
    status: Type.Unsafe<'pending' | 'verified'>({
      ...literals(['pending', 'verified']),
      description: 'no token is issued for a pending API',
    }),
    host: Type.String({
      description: "the host of the identifier, with its port unless that is the scheme's own",
      examples: ['api.example.com'],
    }),
    method: Nullable(
      Type.Unsafe<VerificationMethod>({
        ...literals(verificationMethods),
        description: 'how the host was proven; null while it is pending, and when no proof was needed',
      }),
    ),
    token: Nullable(
      Type.String({
        description:
          'the host publishes `countersign-verification=<token>`; null when no proof was needed, and for organizations that the API is shared with',
      }),
    ),
  },
  { title: 'ResourceVerification' },
);

export const Resource = Type.Object(
  {
    resourceId: Uuid,
    organizationId: Uuid,
    identifier: Type.String({ description: 'the audience of its tokens' }),
    name: Type.String(),
    description: Nullable(Type.String()),
    scopes: Type.Array(ResourceScope, {
      description: 'all of them for the owner; otherwise those that are shared with your organization',
    }),
    tokenLifetimeSeconds: TokenLifetime,
    claims: Type.Array(literals(resourceClaims)),
    peopleScopes: Type.Array(Type.String({ examples: [exampleScope] }), {
      description:
        'the scopes that every person may lend to an agent: of the owner, and of organizations it is shared with',
    }),
    approvers: Type.Array(Uuid, {
      description:
        'people of the owner who may lend every scope; empty for organizations that the API is shared with',
    }),
    authorizationDetailTypes: AuthorizationDetailTypes,
    verification: Verification,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { title: 'Resource' },
);
export type Resource = Static<typeof Resource>;
export const ResourcePage = PageOf(Resource, 'ResourcePage');

const NewScopes = Type.Array(
  Type.Object(
    {
      name: Type.Unsafe<string>({ ...ScopeName, examples: [exampleScope] }),
      description: Type.Optional(Nullable(Type.String({ maxLength: 256 }))),
    },
    { title: 'NewResourceScope', additionalProperties: false },
  ),
  {
    minItems: 1,
    maxItems: maxScopes,
    description: "the API's own scopes, each name once; the names of this server's scopes are not allowed",
  },
);
export type NewScopes = Static<typeof NewScopes>;

export const NewResource = Type.Object(
  {
    identifier: Identifier,
    name: ResourceName,
    scopes: NewScopes,
    description: Type.Optional(Nullable(Description)),
    tokenLifetimeSeconds: Type.Optional(TokenLifetime),
    claims: Type.Optional(Claims),
    peopleScopes: Type.Optional(PeopleScopes),
    approvers: Type.Optional(Approvers),
    authorizationDetailTypes: Type.Optional(NewAuthorizationDetailTypes),
  },
  { title: 'NewResource', additionalProperties: false },
);
export type NewResource = Static<typeof NewResource>;

export const ResourceChange = Type.Object(
  {
    name: Type.Optional(ResourceName),
    scopes: Type.Optional(NewScopes),
    description: Type.Optional(Nullable(Description)),
    tokenLifetimeSeconds: Type.Optional(TokenLifetime),
    claims: Type.Optional(Claims),
    peopleScopes: Type.Optional(PeopleScopes),
    approvers: Type.Optional(Approvers),
    authorizationDetailTypes: Type.Optional(NewAuthorizationDetailTypes),
  },
  { title: 'ResourceChange', additionalProperties: false },
);
export type ResourceChange = Static<typeof ResourceChange>;

export const immutableFields = [
  'resourceId',
  'organizationId',
  'identifier',
  'verification',
  'createdAt',
] as const;

export const ResourceParams = Type.Object({ resourceId: Uuid });
export const ResourceQuery = Type.Object({
  ...pageQuery(pageSizes.standard),
  ...timeRangeQuery('APIs'),
  q: Type.Optional(
    Type.String({ maxLength: maxIdentifierLength, description: 'a part of the name or the identifier' }),
  ),
});
export type ResourceQuery = Static<typeof ResourceQuery>;

/** Of a share or a grant. */
export const ScopeNames = Type.Object(
  {
    scopes: Type.Array(ScopeName, {
      minItems: 1,
      maxItems: maxScopes,
      uniqueItems: true,
      examples: [[exampleScope]],
      description: 'names of scopes of the API',
    }),
  },
  { title: 'ResourceScopeNames', additionalProperties: false },
);
export type ScopeNames = Static<typeof ScopeNames>;

/** The proof of the host; an operator's word replaces it. */
export const VerificationRequest = Type.Object(
  {
    approve: Type.Optional(
      Type.Boolean({ description: 'operators only: true verifies the API without a proof of the host' }),
    ),
  },
  { title: 'ResourceVerificationRequest', additionalProperties: false },
);
export type VerificationRequest = Static<typeof VerificationRequest>;

export { Grant };
export const GrantPage = PageOf(Grant, 'GrantPage');
export const AgentParams = Type.Object({ agentId: Uuid });
export const GrantParams = Type.Object({ agentId: Uuid, resourceId: Uuid });

export const GrantQuery = Type.Object({
  ...pageQuery(pageSizes.standard),
  scope: Type.Optional(
    Type.Unsafe<string>({
      ...ScopeName,
      description: 'grants that have this scope of the API',
      examples: ['orders:read'],
    }),
  ),
});
export type GrantQuery = Static<typeof GrantQuery>;

export const AgentGrantQuery = Type.Object({
  ...pageQuery(pageSizes.standard),
  resourceId: Type.Optional(
    Type.Unsafe<string>({ ...Uuid, description: 'the grant for this API, if there is one' }),
  ),
});
export type AgentGrantQuery = Static<typeof AgentGrantQuery>;

export const ListQuery = Type.Object(pageQuery(pageSizes.standard));
export type ListQuery = Static<typeof ListQuery>;
