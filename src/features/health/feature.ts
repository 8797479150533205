/** Health: the state of the service (/health), the probes of orchestrators (/livez, /readyz) and the metrics for Prometheus (/metrics). Owns no table. */
import type { Health, HealthDeps } from './deps.ts';
import { healthRoutes } from './routes.ts';

export function createHealth(deps: HealthDeps): Health {
  let isDraining = false;
  return {
    routes: healthRoutes(deps, () => isDraining),
    drain() {
      isDraining = true;
    },
  };
}
