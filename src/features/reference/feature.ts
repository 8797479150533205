/** Reference: the OpenAPI document (/openapi.json) and the reference page (/docs), generated from the mounted routes. */
import type { StaticContent } from '../../kernel/http/responses/static-content.ts';
import { referenceRoutes } from './routes.ts';

export interface ReferenceDeps {
  openapi(): Promise<object>;
  /** The page and its script, which are large: loaded by the first request. */
  loadPage(): Promise<ReferencePage>;
}

export interface ReferencePage {
  readonly html: StaticContent;
  readonly script: StaticContent;
  /** Content-Security-Policy under which the page works. */
  readonly policy: string;
}

export const createReference = (deps: ReferenceDeps) => ({
  routes: referenceRoutes(deps),
});
