/**
 * Access: everything that an agent can do now, and through what: its own scopes, its grants, the delegations it has received, and the
 * trust policies by which workloads become this agent. Owns no table; reads the other features through its ports.
 */
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { AccessDeps } from './deps.ts';
import { accessRoutes } from './routes.ts';
import { createAccessService } from './service.ts';

export const createAccess = (deps: AccessDeps): { routes: readonly RouteEntry[] } => ({
  routes: accessRoutes(createAccessService(deps)),
});
