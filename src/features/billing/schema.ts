import type { Static } from 'typebox';
import Type from '../../contract/json-schema.ts';
import { planTiers } from '../../contract/limits.ts';
import { literals, Nullable, Timestamp, Uuid } from '../../contract/shapes.ts';

const OfOrganization = Type.Optional(
  Type.Unsafe<string>({
    ...Uuid,
    description: "a UUID: another organization than the caller's own; operators only",
  }),
);

export const Subscription = Type.Object(
  {
    organizationId: Uuid,
    tier: literals(planTiers),
    status: Type.Unsafe<'none' | 'incomplete' | 'active' | 'past_due' | 'canceled'>({
      type: 'string',
      enum: ['none', 'incomplete', 'active', 'past_due', 'canceled'],
      description: '`incomplete`: the subscription is not paid, so it grants no plan',
    }),
    provider: Type.Union([literals(['stripe', 'embedded']), Type.Null()], {
      description: 'null where billing is not configured',
    }),
    currentPeriodEnd: Nullable(Timestamp),
    cancelAtPeriodEnd: Type.Boolean(),
    updatedAt: Timestamp,
  },
  { title: 'Subscription' },
);
export type Subscription = Static<typeof Subscription>;

export const SubscriptionQuery = Type.Object({ organization_id: OfOrganization });

export const NewCheckout = Type.Object(
  { target_tier: literals(['pro', 'enterprise']), organization_id: OfOrganization },
  { title: 'NewCheckout', additionalProperties: false },
);

export const Checkout = Type.Object(
  {
    checkoutUrl: Type.String({ description: 'good for one payment, until it expires' }),
    sessionId: Type.String(),
    expiresAt: Timestamp,
  },
  { title: 'Checkout' },
);
export type Checkout = Static<typeof Checkout>;

export const NewPortal = Type.Object(
  { organization_id: OfOrganization },
  // Of the caller's own organization.
  { title: 'NewPortal', additionalProperties: false, examples: [{}] },
);

export const Portal = Type.Object({ portalUrl: Type.String() }, { title: 'Portal' });
export type Portal = Static<typeof Portal>;

export const Received = Type.Object(
  {
    received: Type.Literal(true),
    outcome: Type.Unsafe<Outcome>({
      type: 'string',
      enum: ['applied', 'repeated', 'late', 'ignored', 'unknown'],
      description:
        '`repeated`: processed before; `late`: a newer state is stored; `ignored`: not about our plans; `unknown`: no such organization',
    }),
  },
  { title: 'BillingEventReceipt' },
);
export type Outcome = 'applied' | 'repeated' | 'late' | 'ignored' | 'unknown';

/** The raw bytes, because Stripe's signature covers them. */
export const EventBody = Type.Unsafe<Buffer | undefined>({
  description: 'an event, signed in Stripe-Signature',
  examples: [{ id: 'evt_1', type: 'customer.subscription.updated', data: { object: {} } }],
});

export const PageParams = Type.Object({
  token: Type.String({
    minLength: 1,
    maxLength: 128,
    pattern: '^[A-Za-z0-9_-]+$',
    description: '1 to 128 letters, digits, hyphens and underscores; from the URL',
  }),
});

export const Confirmation = Type.Object(
  { confirm: Type.Literal('yes') },
  { title: 'CheckoutConfirmation', additionalProperties: false },
);
