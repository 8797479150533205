/**
 * Scaffold: a project for an agent, in the language of its developers, as an archive. Owns no table; the templates are the
 * files in /scaffolds. Which agents exist is the agents feature's. Nothing secret goes into a project: whoever makes it
 * run brings the secret.
 */
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { ScaffoldDeps } from './deps.ts';
import { scaffoldRoutes } from './routes.ts';
import { createScaffoldService } from './service.ts';

export const createScaffold = (deps: ScaffoldDeps): { routes: readonly RouteEntry[] } => ({
  routes: scaffoldRoutes(createScaffoldService(deps)),
});
