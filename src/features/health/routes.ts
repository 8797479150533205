import Type from '../../contract/json-schema.ts';
import { literals } from '../../contract/shapes.ts';
import { open, type RouteEntry, rootRoute, secret } from '../../kernel/http/route.ts';
import { metricsContentType } from '../../kernel/observability/metrics.ts';
import type { HealthDeps } from './feature.ts';
import { alive, type Checks, createExposition } from './service.ts';

const Health = Type.Object(
  {
    status: Type.Literal('ok'),
    checks: Type.Object({ database: Type.Literal('ok'), redis: literals(['ok', 'away']) }),
    audit: Type.Object({ status: literals(['ok', 'delayed']), oldestUnlinkedSeconds: Type.Number() }),
  },
  { title: 'Health' },
);

const Probe = Type.Object({ status: Type.Literal('ok') }, { title: 'Probe' });

const Exposition = Type.String({
  examples: [
    '# TYPE service_tokens_issued_total counter\nservice_tokens_issued_total{scope="agents:read"} 42\n',
  ],
});

export const healthRoutes = (deps: HealthDeps, checks: Checks): RouteEntry[] => [
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
    handler: checks.health,
  }),
  rootRoute({
    id: 'livez',
    summary: 'Whether the process runs',
    description:
      'Liveness probe: it asks neither the database nor Redis, because a restart would not repair them. It does not count for the rate limit.',
    tag: 'Operational',
    method: 'GET',
    url: '/livez',
    access: open(),
    limit: 'none',
    schema: { response: { 200: Probe } },
    handler: () => alive,
  }),
  rootRoute({
    id: 'readyz',
    summary: 'Whether the process can serve requests',
    description:
      'Readiness probe: 503 while the database cannot be written, and from the moment the process is told to stop. It does not count for the rate limit.',
    tag: 'Operational',
    method: 'GET',
    url: '/readyz',
    access: open(),
    limit: 'none',
    schema: { response: { 200: Probe } },
    errors: ['SERVICE_UNAVAILABLE'],
    handler: checks.readiness,
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
