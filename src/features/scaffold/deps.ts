import type { Particulars, TextFile } from './project.ts';
import type { Language } from './schema.ts';

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
