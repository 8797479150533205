/** The files of a build that the server gives out: of the console, of the documentation. Implemented by adapters/built-files.ts. */
import type { StaticContent } from './static-content.ts';

export interface BuiltFiles {
  /** A file by its name within the build, such as `assets/index-4Fz.js`. */
  find(name: string): Promise<BuiltFile | undefined>;
  /** A page as text, for a response that is no plain file; undefined when there is no build. */
  pageText(name: string): Promise<string | undefined>;
}

export interface BuiltFile {
  readonly content: StaticContent;
  readonly contentType: string;
  /** The name has a hash of the content. */
  readonly immutable: boolean;
}

const oneYear = 31_536_000;

/** The content, with the headers of the file: browsers ask about a name without a hash again. */
export function answerFile(
  { content, contentType, immutable }: BuiltFile,
  header: (name: string, value: string) => void,
): StaticContent {
  header('content-type', contentType);
  header('cache-control', immutable ? `public, max-age=${oneYear}, immutable` : 'public, no-cache');
  return content;
}
