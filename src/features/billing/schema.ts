import Type, { type Static } from 'typebox';
import { planTiers } from '../../contract/limits.ts';
import { literals, Nullable, Timestamp, Uuid } from '../../contract/shapes.ts';

const OfOrganization = Type.Optional(
  Type.Unsafe<string>({
    ...Uuid,
    title: undefined,
    description: "a UUID: another organization than the caller's own, for the operator",
  }),
);

export const Subscription = Type.Object(
  {
    organizationId: Uuid,
    tier: literals(planTiers),
    status: Type.Unsafe<'none' | 'incomplete' | 'active' | 'past_due' | 'canceled'>({
      type: 'string',
      enum: ['none', 'incomplete', 'active', 'past_due', 'canceled'],
      description: '`incomplete`: there is a subscription that is not paid, so it gives no plan',
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
  { title: 'NewPortal', additionalProperties: false },
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
        '`repeated`: acted on before; `late`: something newer is known; `ignored`: nothing of ours; `unknown`: no organization here',
    }),
  },
  { title: 'BillingEventReceipt' },
);
export type Outcome = 'applied' | 'repeated' | 'late' | 'ignored' | 'unknown';

/** Stripe's signature covers the bytes, so they are taken as they are. */
export const EventBody = Type.Unsafe<Buffer | undefined>({
  description: 'an event, signed in Stripe-Signature',
});

export const PageParams = Type.Object({
  token: Type.String({
    minLength: 1,
    maxLength: 128,
    pattern: '^[A-Za-z0-9_-]+$',
    description: 'from the address',
  }),
});

export const Confirmation = Type.Object(
  { confirm: Type.Literal('yes') },
  { title: 'CheckoutConfirmation', additionalProperties: false },
);
