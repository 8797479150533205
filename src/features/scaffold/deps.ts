import type { TemplateValues, TextFile } from './project.ts';
import type { Language } from './schema.ts';

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
