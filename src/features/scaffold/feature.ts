/**
 * Scaffold: a project for an agent in one of five languages, as a ZIP archive. Owns no table; the templates are the files in /scaffolds.
 * Reads agents through their feature. A project contains no secret: its developer adds the client secret.
 */

import type { AgentService } from '../agents/service.ts';
import type { TextFile } from './project.ts';
import { scaffoldRoutes } from './routes.ts';
import type { Language } from './schema.ts';
import { createScaffoldService } from './service.ts';

export interface ScaffoldDeps {
  readonly findAgent: AgentService['find'];
  /** The address of the API. */
  readonly apiUrl: string;
  /** The files of a language's template, in the order they have in the archive. */
  template(language: Language): Promise<readonly TextFile[]>;
  /** A ZIP archive as a stream; the same bytes for the same files. */
  archive(files: readonly TextFile[]): unknown;
}

export const createScaffold = (deps: ScaffoldDeps) => ({
  routes: scaffoldRoutes(createScaffoldService(deps)),
});
