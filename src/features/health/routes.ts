import Type from '../../contract/json-schema.ts';
import { literals } from '../../contract/shapes.ts';
import { open, type RouteEntry, rootRoute, secret } from '../../kernel/http/route.ts';
import { metricsContentType } from '../../kernel/observability/metrics.ts';
import type { HealthDeps } from './deps.ts';
import { checkHealth, createExposition } from './service.ts';

const Health = Type.Object(
  {
    status: Type.Literal('ok'),
    checks: Type.Object({ database: Type.Literal('ok'), redis: literals(['ok', 'away']) }),
    audit: Type.Object({ status: literals(['ok', 'delayed']), oldestUnlinkedSeconds: Type.Number() }),
  },
  { title: 'Health' },
);

const Exposition = Type.String({
  examples: [
    '# TYPE service_tokens_issued_total counter\nservice_tokens_issued_total{scope="agents:read"} 42\n',
  ],
});

export const healthRoutes = (deps: HealthDeps): RouteEntry[] => [
  rootRoute({
    id: 'health',
    summary: 'Whether the service can do its work',
    tag: 'Operational',
    method: 'GET',
    url: '/health',
    access: open(),
    limit: 'caller',
    schema: { response: { 200: Health } },
    errors: ['SERVICE_UNAVAILABLE'],
    handler: () => checkHealth(deps),
  }),
  rootRoute({
    id: 'metrics',
    summary: 'Figures in Prometheus exposition format',
    tag: 'Operational',
    method: 'GET',
    url: '/metrics',
    access: secret(deps.metricsToken),
    limit: 'caller',
    produces: metricsContentType,
    schema: { response: { 200: Exposition } },
    handler: createExposition(deps),
  }),
];
