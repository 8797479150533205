import Type from '../../contract/json-schema.ts';
import type { Caller } from '../../kernel/caller.ts';
import { policy, type RouteEntry, route } from '../../kernel/http/route.ts';
import { organization } from '../../kernel/policy.ts';
import {
  Delivery,
  DeliveryCounts,
  DeliveryCountsQuery,
  DeliveryPage,
  DeliveryParams,
  DeliveryQuery,
  NewSubscription,
  Replay,
  ReplayRequest,
  SecretRotation,
  Subscription,
  SubscriptionChange,
  SubscriptionParams,
  SubscriptionWithSecret,
} from './schema.ts';
import type { WebhookService } from './subscriptions/service.ts';

/** The policy is evaluated for the caller's organization; the service checks that it owns the subscription. */
const ownOrganization = (caller: Caller) => organization(caller.organizationId);
const mayRead = policy('webhooks:read', ownOrganization, undefined, 'webhooks:read');
const mayWrite = policy('webhooks:write', ownOrganization, undefined, 'webhooks:write');

const common = { tag: 'Webhooks', limit: 'caller' } as const;

export const webhookRoutes = (webhooks: WebhookService): RouteEntry[] => [
  route({
    ...common,
    id: 'createWebhook',
    summary: 'Subscribe to events; the signing secret is shown this once',
    method: 'POST',
    url: '/webhooks',
    access: mayWrite,
    idempotent: { event: 'webhook.created', idField: 'webhookId', secret: true },
    schema: { body: NewSubscription, response: { 201: SubscriptionWithSecret } },
    errors: ['FREE_TIER_LIMIT_EXCEEDED', 'ORG_NOT_FOUND'],
    handler: ({ caller, body, header }) => {
      header('cache-control', 'no-store');
      return webhooks.create(caller, body);
    },
  }),
  route({
    ...common,
    id: 'listWebhooks',
    summary: "List the subscriptions of the caller's organization, oldest first",
    method: 'GET',
    url: '/webhooks',
    access: mayRead,
    schema: { response: { 200: Type.Array(Subscription) } },
    handler: ({ caller }) => webhooks.list(caller),
  }),
  route({
    ...common,
    id: 'getWebhook',
    summary: 'Read one subscription',
    method: 'GET',
    url: '/webhooks/:id',
    access: mayRead,
    schema: { params: SubscriptionParams, response: { 200: Subscription } },
    errors: ['WEBHOOK_NOT_FOUND'],
    handler: ({ caller, params }) => webhooks.get(caller, params.id),
  }),
  route({
    ...common,
    id: 'updateWebhook',
    summary: 'Change a subscription; an inactive one gets no new deliveries, and its pending ones wait',
    method: 'PATCH',
    url: '/webhooks/:id',
    access: mayWrite,
    optionalBody: true,
    schema: { params: SubscriptionParams, body: SubscriptionChange, response: { 200: Subscription } },
    errors: ['WEBHOOK_NOT_FOUND', 'FORBIDDEN'],
    handler: ({ caller, params, body }) => webhooks.update(caller, params.id, body),
  }),
  route({
    ...common,
    id: 'deleteWebhook',
    summary: 'End a subscription, with its deliveries',
    method: 'DELETE',
    url: '/webhooks/:id',
    access: mayWrite,
    schema: { params: SubscriptionParams, response: { 204: Type.Null() } },
    errors: ['WEBHOOK_NOT_FOUND'],
    handler: ({ caller, params }) => webhooks.remove(caller, params.id),
  }),
  route({
    ...common,
    cost: 'heavy',
    id: 'listWebhookDeliveries',
    summary: 'List the deliveries of a subscription, newest first, each with its attempts',
    method: 'GET',
    url: '/webhooks/:id/deliveries',
    access: mayRead,
    schema: { params: SubscriptionParams, query: DeliveryQuery, response: { 200: DeliveryPage } },
    errors: ['WEBHOOK_NOT_FOUND'],
    handler: ({ caller, params, query }) => webhooks.deliveries(caller, params.id, query),
  }),
  route({
    ...common,
    cost: 'heavy',
    id: 'countWebhookDeliveries',
    summary: 'Count the deliveries of a subscription by status',
    method: 'GET',
    url: '/webhooks/:id/deliveries/counts',
    access: mayRead,
    schema: { params: SubscriptionParams, query: DeliveryCountsQuery, response: { 200: DeliveryCounts } },
    errors: ['WEBHOOK_NOT_FOUND'],
    handler: ({ caller, params, query }) => webhooks.countDeliveries(caller, params.id, query),
  }),
  route({
    ...common,
    id: 'getWebhookDelivery',
    summary: 'Read one delivery with its attempts',
    method: 'GET',
    url: '/webhooks/:id/deliveries/:deliveryId',
    access: mayRead,
    schema: { params: DeliveryParams, response: { 200: Delivery } },
    errors: ['WEBHOOK_NOT_FOUND'],
    handler: ({ caller, params }) => webhooks.delivery(caller, params.id, params.deliveryId),
  }),
  route({
    ...common,
    id: 'rotateWebhookSecret',
    summary: 'Replace the signing secret; the new one is shown this once',
    description: 'The replaced secret signs too, until the time in `previous_secret_expires_at`.',
    method: 'POST',
    url: '/webhooks/:id/rotate-secret',
    access: mayWrite,
    optionalBody: true,
    schema: { params: SubscriptionParams, body: SecretRotation, response: { 200: SubscriptionWithSecret } },
    errors: ['WEBHOOK_NOT_FOUND', 'FORBIDDEN'],
    handler: ({ caller, params, body, header }) => {
      header('cache-control', 'no-store');
      return webhooks.rotateSecret(caller, params.id, body);
    },
  }),
  route({
    ...common,
    id: 'testWebhook',
    summary: 'Send a test delivery (type webhook.test), also while the subscription is inactive',
    method: 'POST',
    url: '/webhooks/:id/test',
    access: mayWrite,
    schema: { params: SubscriptionParams, response: { 202: Delivery } },
    errors: ['WEBHOOK_NOT_FOUND', 'FORBIDDEN'],
    handler: ({ caller, params }) => webhooks.test(caller, params.id),
  }),
  route({
    ...common,
    id: 'replayWebhookDeliveries',
    summary: 'Send many deliveries again, each under its id, in the background; the answer has their count',
    method: 'POST',
    url: '/webhooks/:id/deliveries/replay',
    access: mayWrite,
    schema: { params: SubscriptionParams, body: ReplayRequest, response: { 202: Replay } },
    errors: ['WEBHOOK_NOT_FOUND', 'FORBIDDEN'],
    handler: ({ caller, params, body }) => webhooks.replayMany(caller, params.id, body),
  }),
  route({
    ...common,
    id: 'replayWebhookDelivery',
    summary: 'Send a delivery again under its id, in any status; the retry schedule restarts',
    method: 'POST',
    url: '/webhooks/:id/deliveries/:deliveryId/replay',
    access: mayWrite,
    schema: { params: DeliveryParams, response: { 202: Delivery } },
    errors: ['WEBHOOK_NOT_FOUND', 'FORBIDDEN'],
    handler: ({ caller, params }) => webhooks.replay(caller, params.id, params.deliveryId),
  }),
];
