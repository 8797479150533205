import type { Static } from 'typebox';
import Type from '../../contract/json-schema.ts';
import { planTiers } from '../../contract/limits.ts';
import { literals } from '../../contract/shapes.ts';

export const TierStatus = Type.Object(
  {
    tier: literals(planTiers),
    limits: Type.Object(
      { maxAgents: Type.Integer(), maxCallsPerDay: Type.Integer(), maxTokensPerDay: Type.Integer() },
      { description: '2147483647 is unlimited' },
    ),
    usage: Type.Object(
      { agentCount: Type.Integer(), callsToday: Type.Integer(), tokensToday: Type.Integer() },
      { description: 'days begin at midnight UTC' },
    ),
  },
  { title: 'TierStatus' },
);
export type TierStatus = Static<typeof TierStatus>;

const paidTiers = ['pro', 'enterprise'] as const;
export type PaidTier = (typeof paidTiers)[number];

export const TierUpgrade = Type.Object(
  { target_tier: literals(paidTiers) },
  { title: 'TierUpgrade', additionalProperties: false },
);

export const Checkout = Type.Object(
  { checkoutUrl: Type.String({ description: 'where the plan is paid for; it can be used once' }) },
  { title: 'TierCheckout' },
);
export type Checkout = Static<typeof Checkout>;
