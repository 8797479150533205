import Type from 'typebox';
import { policy, type RouteEntry, route } from '../../kernel/http/route.ts';
import { instance, organization } from '../../kernel/policy.ts';
import type { OrganizationService } from './deps.ts';
import {
  Membership,
  NewMember,
  NewOrganization,
  Organization,
  OrganizationChange,
  OrganizationPage,
  OrganizationParams,
  OrganizationQuery,
} from './schema.ts';

const organizationInPath = (_: unknown, params: Record<string, string>) => organization(params.orgId ?? '');
const wholeInstance = () => instance;

export const organizationRoutes = (organizations: OrganizationService): RouteEntry[] => [
  route({
    id: 'createOrganization',
    summary: 'Create an organization',
    tag: 'Organizations',
    method: 'POST',
    url: '/organizations',
    access: policy('organizations:create', wholeInstance),
    limit: 'caller',
    idempotent: { event: 'organization.created', idField: 'organizationId' },
    schema: { body: NewOrganization, response: { 201: Organization } },
    errors: ['ORG_ALREADY_EXISTS'],
    handler: ({ caller, body }) => organizations.create(caller, body),
  }),
  route({
    id: 'listOrganizations',
    summary: 'List organizations, newest first',
    tag: 'Organizations',
    method: 'GET',
    url: '/organizations',
    access: policy('organizations:list', wholeInstance),
    limit: 'caller',
    schema: { query: OrganizationQuery, response: { 200: OrganizationPage } },
    handler: ({ caller, query }) => organizations.list(caller, query),
  }),
  route({
    id: 'getOrganization',
    summary: 'Read one organization',
    tag: 'Organizations',
    method: 'GET',
    url: '/organizations/:orgId',
    access: policy('organizations:read', organizationInPath, 'ORG_NOT_FOUND'),
    limit: 'caller',
    schema: { params: OrganizationParams, response: { 200: Organization } },
    errors: ['ORG_NOT_FOUND'],
    handler: ({ caller, params }) => organizations.get(caller, params.orgId),
  }),
  route({
    id: 'updateOrganization',
    summary: 'Change an organization: its name, plan, limits, or status',
    tag: 'Organizations',
    method: 'PATCH',
    url: '/organizations/:orgId',
    access: policy('organizations:rename', organizationInPath, 'ORG_NOT_FOUND'),
    limit: 'caller',
    optionalBody: true,
    schema: { params: OrganizationParams, body: OrganizationChange, response: { 200: Organization } },
    errors: ['ORG_NOT_FOUND'],
    handler: ({ caller, params, body }) => organizations.update(caller, params.orgId, body),
  }),
  route({
    id: 'deleteOrganization',
    summary: 'Delete an organization; its slug stays taken and its history is kept',
    tag: 'Organizations',
    method: 'DELETE',
    url: '/organizations/:orgId',
    access: policy('organizations:delete', organizationInPath, 'ORG_NOT_FOUND'),
    limit: 'caller',
    schema: { params: OrganizationParams, response: { 204: Type.Null() } },
    errors: ['ORG_NOT_FOUND'],
    handler: ({ caller, params }) => organizations.remove(caller, params.orgId),
  }),
  route({
    id: 'addMember',
    summary: 'Make an agent a member of an organization',
    tag: 'Organizations',
    method: 'POST',
    url: '/organizations/:orgId/members',
    access: policy('organizations:addMember', organizationInPath, 'ORG_NOT_FOUND'),
    limit: 'caller',
    schema: { params: OrganizationParams, body: NewMember, response: { 201: Membership } },
    errors: ['ORG_NOT_FOUND', 'AGENT_NOT_FOUND', 'MEMBER_ALREADY_EXISTS'],
    handler: ({ caller, params, body }) => organizations.addMember(caller, params.orgId, body),
  }),
];
