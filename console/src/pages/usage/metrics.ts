import type { Usage } from '../../api/generated.ts';

export type Metric = Usage['data'][number]['metric'];

export const metricLabels: Readonly<Record<Metric, string>> = {
  api_calls: 'API calls',
  tokens_issued: 'Tokens issued',
  token_exchanges: 'Token exchanges',
  delegations_created: 'Delegations',
  webhook_deliveries: 'Webhook deliveries',
  introspections: 'Introspections',
};

export const metrics = Object.keys(metricLabels) as Metric[];
