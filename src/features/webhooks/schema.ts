import type { Static } from 'typebox';
import { webhookEvents } from '../../contract/events.ts';
import Type from '../../contract/json-schema.ts';
import { limits, pageSizes, unlimited } from '../../contract/limits.ts';
import { httpsUrl } from '../../contract/patterns.ts';
import { literals, Name, Nullable, Timestamp, timeRangeQuery, Uuid } from '../../contract/shapes.ts';

const EndpointUrl = Type.String({
  minLength: 1,
  maxLength: 2_048,
  documentedPattern: httpsUrl,
  description: 'an https:// URL in ASCII, without credentials or fragment',
});
const eventNames = ['*', ...webhookEvents] as const;
const Events = Type.Array(literals(eventNames), {
  minItems: 1,
  maxItems: eventNames.length,
  uniqueItems: true,
  description: 'the events to deliver; `*` for all',
});

export const Subscription = Type.Object(
  {
    id: Uuid,
    organization_id: Uuid,
    name: Type.String(),
    url: Type.String(),
    events: Type.Array(Type.String()),
    active: Type.Boolean(),
    failure_count: Type.Integer({ description: 'failed attempts since one last succeeded' }),
    previous_secret_expires_at: Nullable(
      Type.String({
        format: 'date-time',
        description: 'until then the secret before the last rotation signs deliveries too',
      }),
    ),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: 'WebhookSubscription' },
);
export type Subscription = Static<typeof Subscription>;

export const SubscriptionWithSecret = Type.Object(
  {
    ...Subscription.properties,
    signingSecret: Type.String({ description: 'shown this once' }),
  },
  { title: 'WebhookSubscriptionWithSecret' },
);
export type SubscriptionWithSecret = Static<typeof SubscriptionWithSecret>;

export const NewSubscription = Type.Object(
  { name: Name, url: EndpointUrl, events: Events },
  { title: 'NewWebhookSubscription', additionalProperties: false },
);
export type NewSubscription = Static<typeof NewSubscription>;

export const SubscriptionChange = Type.Object(
  {
    name: Type.Optional(Name),
    url: Type.Optional(EndpointUrl),
    events: Type.Optional(Events),
    active: Type.Optional(Type.Boolean({ description: 'false pauses the deliveries' })),
  },
  { title: 'WebhookSubscriptionChange', additionalProperties: false },
);
export type SubscriptionChange = Static<typeof SubscriptionChange>;

export const SecretRotation = Type.Object(
  {
    overlapSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: limits.webhookSecretOverlapSeconds.max,
        examples: [limits.webhookSecretOverlapSeconds.default],
        description:
          'how long the replaced secret signs deliveries too; 0 ends it at once. By default as the instance is configured: 24 hours',
      }),
    ),
  },
  { title: 'WebhookSecretRotation', additionalProperties: false },
);
export type SecretRotation = Static<typeof SecretRotation>;

export const deliveryStatuses = ['pending', 'delivered', 'failed', 'dead_letter'] as const;

/** Pending deliveries are sent anyway. */
export const replayableStatuses = ['delivered', 'failed', 'dead_letter'] as const;

export const Attempt = Type.Object(
  {
    attempted_at: Timestamp,
    duration_ms: Type.Integer(),
    http_status_code: Nullable(Type.Integer()),
    error: Nullable(Type.String({ description: 'why there was no response' })),
    response_excerpt: Nullable(
      Type.String({
        description: `the first ${limits.webhookResponseExcerpt} characters of the response; null without a body, and on instances whose organizations may call private addresses`,
        examples: ['upstream timed out'],
      }),
    ),
  },
  { title: 'WebhookAttempt' },
);
export type Attempt = Static<typeof Attempt>;

export const Delivery = Type.Object(
  {
    id: Uuid,
    subscription_id: Uuid,
    event_type: Type.String(),
    payload: Type.Object({}, { additionalProperties: true, description: 'the body that is sent' }),
    status: literals(deliveryStatuses),
    http_status_code: Nullable(Type.Integer()),
    attempt_count: Type.Integer({ description: 'attempts made, since the last replay if there was one' }),
    next_retry_at: Nullable(Timestamp),
    delivered_at: Nullable(Timestamp),
    created_at: Timestamp,
    updated_at: Timestamp,
    attempts: Type.Array(Attempt, {
      description: `the last ${limits.webhookAttemptsStored} attempts, oldest first`,
    }),
  },
  { title: 'WebhookDelivery' },
);
export type Delivery = Static<typeof Delivery>;

export const DeliveryPage = Type.Object(
  {
    deliveries: Type.Array(Delivery),
    total: Type.Integer(),
    limit: Type.Integer(),
    offset: Type.Integer(),
  },
  { title: 'WebhookDeliveryPage' },
);
export type DeliveryPage = Static<typeof DeliveryPage>;

export const SubscriptionParams = Type.Object({ id: Uuid });
export const DeliveryParams = Type.Object({ id: Uuid, deliveryId: Uuid });

const timeRange = timeRangeQuery('deliveries');

export const DeliveryCountsQuery = Type.Object(timeRange);
export type DeliveryCountsQuery = Static<typeof DeliveryCountsQuery>;

export const DeliveryCounts = Type.Object(
  {
    pending: Type.Integer(),
    delivered: Type.Integer(),
    failed: Type.Integer(),
    dead_letter: Type.Integer(),
    open_replays: Type.Integer({
      description: 'replays of many deliveries that have not reached all of their deliveries yet',
    }),
  },
  { title: 'WebhookDeliveryCounts' },
);
export type DeliveryCounts = Static<typeof DeliveryCounts>;

export const DeliveryQuery = Type.Object({
  ...timeRange,
  status: Type.Optional(literals(deliveryStatuses)),
  limit: Type.Integer({
    minimum: 1,
    maximum: pageSizes.deliveries.max,
    default: pageSizes.deliveries.default,
    description: 'how many deliveries to list',
  }),
  offset: Type.Integer({
    minimum: 0,
    maximum: unlimited,
    default: 0,
    description: 'how many deliveries to skip',
  }),
});
export type DeliveryQuery = Static<typeof DeliveryQuery>;

export const ReplayRequest = Type.Object(
  {
    status: Type.Optional(
      Type.Unsafe<(typeof replayableStatuses)[number]>({
        ...literals(replayableStatuses),
        description: 'deliveries with this status; by default those that are failed or dead_letter',
      }),
    ),
    since: Type.String({
      format: 'date-time',
      description: `deliveries created at this time or later; an earlier time than ${limits.webhookRetentionDays} days ago means all that are kept`,
      examples: ['2025-01-31T12:00:00.000Z'],
    }),
    until: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'deliveries created at this time or earlier; by default now',
      }),
    ),
  },
  { title: 'WebhookReplayRequest', additionalProperties: false },
);
export type ReplayRequest = Static<typeof ReplayRequest>;

export const Replay = Type.Object(
  { count: Type.Integer({ description: 'how many deliveries are sent again' }) },
  { title: 'WebhookReplay' },
);
export type Replay = Static<typeof Replay>;
