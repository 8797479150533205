import Type from '../../../contract/json-schema.ts';
import type { Caller } from '../../../kernel/caller.ts';
import { policy, type RouteEntry, route, scope } from '../../../kernel/http/route.ts';
import { organization } from '../../../kernel/policy.ts';
import { ListQuery, ResourceParams, ScopeNames } from '../schema.ts';
import type { ReceivedShareService } from './received-shares.ts';
import {
  ReceivedShare,
  ReceivedSharePage,
  ReceivedShareQuery,
  Share,
  SharePage,
  ShareParams,
} from './share-schema.ts';
import type { ShareService } from './shares.ts';

const common = { tag: 'APIs', limit: 'caller' } as const;

/** An admin of the organization that the resource is shared with: the caller's own. */
const admin = policy('shares:decide', ({ organizationId }: Caller) => organization(organizationId));

export const shareRoutes = (shares: ShareService, received: ReceivedShareService): RouteEntry[] => [
  route({
    ...common,
    id: 'listResourceShares',
    summary: 'List the organizations that an API is shared with or offered to, newest first',
    description: 'Of their agents it shows the number, not the names.',
    method: 'GET',
    url: '/resources/:resourceId/shares',
    access: scope('resources:write'),
    schema: { params: ResourceParams, query: ListQuery, response: { 200: SharePage } },
    errors: ['FORBIDDEN', 'RESOURCE_NOT_FOUND'],
    handler: ({ caller, params, query }) => shares.list(caller, params.resourceId, query),
  }),
  route({
    ...common,
    id: 'putResourceShare',
    summary: 'Offer another organization scopes of an API, to grant them to its agents',
    description:
      'Scopes that are new to the share wait in `offeredScopes` until an admin of the other organization accepts them; those of an operator are accepted at once. A scope that is left out ends in the share and in the grants of its agents at once. After the other organization has declined or left, the owner can offer again 24 hours later.',
    method: 'PUT',
    url: '/resources/:resourceId/shares/:organizationId',
    access: scope('resources:write'),
    schema: { params: ShareParams, body: ScopeNames, response: { 200: Share } },
    errors: ['FORBIDDEN', 'SHARE_LIMIT_EXCEEDED', 'RESOURCE_NOT_FOUND', 'ORG_NOT_FOUND', 'SHARE_DECLINED'],
    handler: ({ caller, params, body }) => shares.put(caller, params, body),
  }),
  route({
    ...common,
    id: 'deleteResourceShare',
    summary: "End a share or an offer, with all grants of the other organization's agents",
    method: 'DELETE',
    url: '/resources/:resourceId/shares/:organizationId',
    access: scope('resources:write'),
    quota: 'free',
    schema: { params: ShareParams, response: { 204: Type.Null() } },
    errors: ['FORBIDDEN', 'RESOURCE_NOT_FOUND', 'SHARE_NOT_FOUND'],
    handler: ({ caller, params }) => shares.remove(caller, params),
  }),
  route({
    ...common,
    id: 'listReceivedShares',
    summary: 'List the APIs that other organizations share with yours or offer to it, newest first',
    description: 'An offer gives nothing until an admin of your organization accepts it.',
    method: 'GET',
    url: '/shares',
    access: scope('resources:read'),
    schema: { query: ReceivedShareQuery, response: { 200: ReceivedSharePage } },
    handler: ({ caller, query }) => received.list(caller, query),
  }),
  route({
    ...common,
    id: 'acceptShare',
    summary: 'Accept the scopes of an API that another organization offers to yours',
    description: 'Its agents have none of them until they are granted.',
    method: 'POST',
    url: '/shares/:resourceId/accept',
    access: admin,
    schema: { params: ResourceParams, response: { 200: ReceivedShare } },
    errors: ['SHARE_NOT_FOUND'],
    handler: ({ caller, params }) => received.accept(caller, params.resourceId),
  }),
  route({
    ...common,
    id: 'declineShare',
    summary: "Decline an offer, or leave a share with all grants of your organization's agents",
    description: 'The owner can offer the API again 24 hours later.',
    method: 'DELETE',
    url: '/shares/:resourceId',
    access: admin,
    quota: 'free',
    schema: { params: ResourceParams, response: { 204: Type.Null() } },
    errors: ['SHARE_NOT_FOUND'],
    handler: ({ caller, params }) => received.decline(caller, params.resourceId),
  }),
];
