/** The usage counters per organization, agent and day. */
export const usageMetrics = [
  'api_calls',
  'tokens_issued',
  'token_exchanges',
  'delegations_created',
  'webhook_deliveries',
  'introspections',
] as const;

export type UsageMetric = (typeof usageMetrics)[number];
