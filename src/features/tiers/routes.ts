import { bearer, ownBearer, type RouteEntry, route } from '../../kernel/http/route.ts';
import { Checkout, TierStatus, TierUpgrade } from './schema.ts';
import type { TierService } from './service.ts';

export const tierRoutes = (tiers: TierService): RouteEntry[] => [
  route({
    id: 'getTierStatus',
    summary: "Your organization's plan, its limits, and their usage",
    tag: 'Plans',
    method: 'GET',
    url: '/tiers/status',
    access: bearer(),
    limit: 'caller',
    quota: 'free',
    schema: { response: { 200: TierStatus } },
    handler: ({ caller }) => tiers.status(caller),
  }),
  route({
    id: 'upgradeTier',
    summary: 'Start the payment for a higher plan',
    description: 'After the first order the policies must permit `billing:manage`.',
    tag: 'Plans',
    method: 'POST',
    url: '/tiers/upgrade',
    access: ownBearer(),
    limit: 'caller',
    quota: 'free',
    schema: { body: TierUpgrade, response: { 200: Checkout } },
    errors: ['FORBIDDEN', 'TIER_UPGRADE_NOT_REQUIRED', 'BILLING_DISABLED', 'SERVICE_UNAVAILABLE'],
    handler: ({ caller, body }) => tiers.upgrade(caller, body.target_tier),
  }),
];
