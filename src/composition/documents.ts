/** The documentation of this release as documents for programs: the pages of docs/ as Markdown, and the OpenAPI document. */
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../kernel/package-root.ts';
import type { McpDocument } from '../kernel/ports/mcp.ts';

const root = fileURLToPath(packageRoot);
const prefix = 'countersign://';
const openapiUri = `${prefix}openapi.json`;

export interface Documents {
  list(): Promise<readonly McpDocument[]>;
  /** Undefined when there is none. */
  read(uri: string): Promise<string | undefined>;
}

/** The pages are read at the first request for them. */
export function createDocuments({ openapi }: { openapi(): Promise<object> }): Documents {
  let pages: Promise<readonly McpDocument[]> | undefined;
  let openapiText: Promise<string> | undefined;
  const list = async () => {
    pages ??= listPages();
    return [
      ...(await pages),
      {
        uri: openapiUri,
        name: 'openapi',
        title: 'OpenAPI document',
        mediaType: 'application/json',
        description: 'Every operation of the API, with its scopes and errors. It is large.',
      },
    ];
  };
  return {
    list,
    async read(uri) {
      if (uri === openapiUri) {
        openapiText ??= openapi().then((document) => JSON.stringify(document));
        return openapiText;
      }
      const page = (await list()).find((document) => document.uri === uri);
      return page && readFile(`${root}${uri.slice(prefix.length)}`, 'utf8');
    },
  };
}

const listPages = (): Promise<readonly McpDocument[]> =>
  Promise.all(
    globSync('docs/**/*.md', { cwd: root })
      .sort()
      .map(async (path) => ({
        uri: `${prefix}${path}`,
        name: path.slice('docs/'.length, -'.md'.length),
        title: /^# (.+)$/m.exec(await readFile(`${root}${path}`, 'utf8'))?.[1] ?? path,
        mediaType: 'text/markdown',
      })),
  );
