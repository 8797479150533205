/** Reference: the API described for machines (/openapi.json) and for people (/docs), from the routes as they are mounted. */
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { StaticContent } from '../../kernel/http/static-content.ts';
import { referenceRoutes } from './routes.ts';

export interface ReferenceDeps {
  openapi(): object;
  /** The page and its script, loaded when somebody first asks: they are large. */
  loadPage(): Promise<ReferencePage>;
}

export interface ReferencePage {
  readonly html: StaticContent;
  readonly script: StaticContent;
  /** Content-Security-Policy under which the page works. */
  readonly policy: string;
}

export const createReference = (deps: ReferenceDeps): { routes: readonly RouteEntry[] } => ({
  routes: referenceRoutes(deps),
});
