/** Health: the probe that orchestrators ask and the figures that monitoring scrapes. Owns nothing, reads everyone's metrics. */
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { HealthDeps } from './deps.ts';
import { healthRoutes } from './routes.ts';

export const createHealth = (deps: HealthDeps): { routes: readonly RouteEntry[] } => ({
  routes: healthRoutes(deps),
});
