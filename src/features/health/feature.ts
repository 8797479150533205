/** Health: the probe for orchestrators (/health) and the metrics for Prometheus (/metrics). Owns no table. */
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { HealthDeps } from './deps.ts';
import { healthRoutes } from './routes.ts';

export const createHealth = (deps: HealthDeps): { routes: readonly RouteEntry[] } => ({
  routes: healthRoutes(deps),
});
