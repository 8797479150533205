/**
 * Scaffold: a project for an agent in one of five languages, as a ZIP archive. Owns no table; the templates are the files in /scaffolds.
 * Reads agents through its port. A project contains no secret: its developer adds the client secret.
 */

import type { RouteEntry } from '../../kernel/http/route.ts';
import type { TemplateValues, TextFile } from './project.ts';
import { scaffoldRoutes } from './routes.ts';
import type { Language } from './schema.ts';
import { createScaffoldService } from './service.ts';

export interface ScaffoldDeps {
  /** The agent, of any organization. */
  findAgent(agentId: string): Promise<ScaffoldedAgent | undefined>;
  /** The address of the API. */
  readonly apiUrl: string;
  /** The files of a language's template, in the order they have in the archive. */
  template(language: Language): Promise<readonly TextFile[]>;
  /** A ZIP archive as a stream; the same bytes for the same files. */
  archive(files: readonly TextFile[]): unknown;
}

export type ScaffoldedAgent = Omit<TemplateValues, 'name' | 'apiUrl'> & {
  readonly status: string;
};

export const createScaffold = (deps: ScaffoldDeps): { routes: readonly RouteEntry[] } => ({
  routes: scaffoldRoutes(createScaffoldService(deps)),
});
