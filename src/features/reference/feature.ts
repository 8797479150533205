/**
 * Reference: the OpenAPI document (/openapi.json) and the reference page (/docs/api), generated from the mounted routes, and the
 * documentation site (/docs, /llms.txt), which is built from the folder docs/. Without a built site /docs is the reference page.
 */
import type { BuiltFiles } from '../../kernel/http/responses/built-files.ts';
import type { StaticContent } from '../../kernel/http/responses/static-content.ts';
import { referenceRoutes } from './routes.ts';

export interface ReferenceDeps {
  openapi(): Promise<object>;
  /** The page and its script, which are large: loaded by the first request. */
  loadPage(): Promise<ReferencePage>;
  readonly docs: BuiltFiles;
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
