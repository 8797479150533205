import type { Static } from 'typebox';
import Type from '../../contract/json-schema.ts';
import { pageSizes, planTiers, unlimited } from '../../contract/limits.ts';
import {
  literals,
  Nullable,
  nameText,
  PageOf,
  pageQuery,
  Timestamp,
  timeRangeQuery,
  Uuid,
} from '../../contract/shapes.ts';

export const organizationStatuses = ['active', 'suspended', 'deleted'] as const;

const Slug = Type.String({
  minLength: 1,
  maxLength: 63,
  pattern: '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$',
  description: 'lowercase letters, digits and hyphens, with a letter or digit at either end',
});
/**
 * Signed cards show this name to people. With control characters and bidirectional formatting it could imitate another name or
 * other content.
 */
const OrganizationName = Type.String(nameText(255, '; not unique'));
const Maximum = Type.Integer({ minimum: 0, maximum: unlimited });

export const Organization = Type.Object(
  {
    organizationId: Uuid,
    name: Type.String(),
    slug: Type.String(),
    planTier: literals(planTiers),
    maxAgents: Type.Integer({ description: "the organization's own figure, or its plan's" }),
    maxTokensPerMonth: Type.Integer({
      description: "per client; the organization's own figure, or its plan's",
    }),
    status: literals(organizationStatuses),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { title: 'Organization' },
);
export type Organization = Static<typeof Organization>;

export const OrganizationPage = PageOf(Organization, 'OrganizationPage');

export const NewOrganization = Type.Object(
  {
    name: OrganizationName,
    slug: Slug,
    planTier: Type.Optional(literals(planTiers)),
    maxAgents: Type.Optional(Maximum),
    maxTokensPerMonth: Type.Optional(Maximum),
  },
  { title: 'NewOrganization', additionalProperties: false },
);
export type NewOrganization = Static<typeof NewOrganization>;

export const OrganizationChange = Type.Object(
  {
    name: Type.Optional(OrganizationName),
    planTier: Type.Optional(literals(planTiers)),
    // Null removes the override: the plan's limit holds again.
    maxAgents: Type.Optional(Nullable(Maximum)),
    maxTokensPerMonth: Type.Optional(Nullable(Maximum)),
    status: Type.Optional(literals(['active', 'suspended'])),
  },
  { title: 'OrganizationChange', additionalProperties: false },
);
export type OrganizationChange = Static<typeof OrganizationChange>;

export const OrganizationParams = Type.Object({ orgId: Uuid });

export const OrganizationQuery = Type.Object({
  ...pageQuery(pageSizes.standard),
  ...timeRangeQuery('organizations'),
  status: Type.Optional(literals(organizationStatuses)),
  slug: Type.Optional(Type.String({ maxLength: 63, description: 'only the organization with this slug' })),
});
export type OrganizationQuery = Static<typeof OrganizationQuery>;

const roles = ['member', 'admin'] as const;

export const Membership = Type.Object(
  {
    memberId: Uuid,
    organizationId: Uuid,
    agentId: Uuid,
    role: literals(roles),
    joinedAt: Timestamp,
  },
  { title: 'Membership' },
);
export type Membership = Static<typeof Membership>;

export const NewMember = Type.Object(
  { agentId: Uuid, role: literals(roles) },
  { title: 'NewMember', additionalProperties: false },
);
export type NewMember = Static<typeof NewMember>;

export const MembershipPage = PageOf(Membership, 'MembershipPage');

export const MemberChange = Type.Object(
  { role: Type.Optional(literals(roles)) },
  { title: 'MemberChange', additionalProperties: false },
);
export type MemberChange = Static<typeof MemberChange>;

export const MemberParams = Type.Object({ orgId: Uuid, agentId: Uuid });
export type MemberParams = Static<typeof MemberParams>;

export const MemberQuery = Type.Object({
  ...pageQuery(pageSizes.standard),
  role: Type.Optional(literals(roles)),
});
export type MemberQuery = Static<typeof MemberQuery>;
