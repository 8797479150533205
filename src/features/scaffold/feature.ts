/**
 * Scaffold: a project for an agent in one of five languages, as a ZIP archive. Owns no table; the templates are the files in /scaffolds.
 * Reads agents through its port. A project contains no secret: its developer adds the client secret.
 */
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { ScaffoldDeps } from './deps.ts';
import { scaffoldRoutes } from './routes.ts';
import { createScaffoldService } from './service.ts';

export const createScaffold = (deps: ScaffoldDeps): { routes: readonly RouteEntry[] } => ({
  routes: scaffoldRoutes(createScaffoldService(deps)),
});
