/** Reference: the OpenAPI document (/openapi.json) and the reference page (/docs), generated from the mounted routes. */
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { ReferenceDeps } from './deps.ts';
import { referenceRoutes } from './routes.ts';

export const createReference = (deps: ReferenceDeps): { routes: readonly RouteEntry[] } => ({
  routes: referenceRoutes(deps),
});
