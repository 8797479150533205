/** Reference: the API described for machines (/openapi.json) and for people (/docs), from the routes as they are mounted. */
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { ReferenceDeps } from './deps.ts';
import { referenceRoutes } from './routes.ts';

export const createReference = (deps: ReferenceDeps): { routes: readonly RouteEntry[] } => ({
  routes: referenceRoutes(deps),
});
