/** Health: the state of the service (/health), the probes of orchestrators (/livez, /readyz) and the metrics for Prometheus (/metrics). Owns no table. */
import type { Health, HealthDeps } from './deps.ts';
import { healthRoutes } from './routes.ts';
import { createChecks } from './service.ts';

export function createHealth(deps: HealthDeps): Health {
  const checks = createChecks(deps);
  return { routes: healthRoutes(deps, checks), drain: checks.drain };
}
