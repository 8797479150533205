/**
 * Scaffold: a project for an agent, in the language of its developers, as an archive. Owns no table; the templates are the
 * files in /scaffolds. Which agents exist is the agents feature's. Nothing secret goes into a project: whoever makes it
 * run brings the secret.
 */
import type { RouteEntry } from '../../kernel/http/route.ts';
import type { Particulars, TextFile } from './project.ts';
import { scaffoldRoutes } from './routes.ts';
import type { Language } from './schema.ts';
import { createScaffoldService } from './service.ts';

export interface ScaffoldDeps {
  /** The agent, in whichever organization. */
  findAgent(agentId: string): Promise<ScaffoldedAgent | undefined>;
  /** Where the API is to be found. */
  readonly apiUrl: string;
  /** The files of a language's template, in the order they have in the archive. */
  template(language: Language): Promise<readonly TextFile[]>;
  /** A ZIP archive as a stream; the same bytes for the same files. */
  archive(files: readonly TextFile[]): unknown;
}

export type ScaffoldedAgent = Omit<Particulars, 'name' | 'apiUrl'> & {
  readonly status: string;
};

export const createScaffold = (deps: ScaffoldDeps): { routes: readonly RouteEntry[] } => ({
  routes: scaffoldRoutes(createScaffoldService(deps)),
});
