/**
 * The files of the console's build. The first request lists the folder and so fixes the names that are served: a path cannot lead out
 * of it. A file is read when it is first asked for, and memory keeps it compressed.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';
import { createFileContent, type StaticContent } from '../kernel/http/responses/static-content.ts';

interface ConsoleFile {
  readonly content: StaticContent;
  readonly contentType: string;
  readonly immutable: boolean;
}

const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
};

/** Vite writes the files whose names have a hash here. */
const hashedFolder = 'assets/';

export function createConsoleFiles(folder: string) {
  let loading: Promise<Build> | undefined;
  /** Not remembered until there is a build: it may be made while the server runs. */
  const load = async (): Promise<Build | undefined> => {
    if (!loading && !existsSync(join(folder, 'index.html'))) return undefined;
    loading ??= readBuild(folder).catch((error) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };

  return {
    page: async (): Promise<string | undefined> => (await load())?.page,
    find: async (name: string): Promise<ConsoleFile | undefined> => (await load())?.find(name),
  };
}

interface Build {
  readonly page: string;
  find(name: string): Promise<ConsoleFile> | undefined;
}

async function readBuild(folder: string): Promise<Build> {
  const page = await readFile(join(folder, 'index.html'), 'utf8');
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = new Set(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/')),
  );
  const files = new Map<string, Promise<ConsoleFile>>();

  const read = async (name: string, contentType: string): Promise<ConsoleFile> => {
    const bytesOf = (file: string) => () => readFile(join(folder, file));
    const gzipped = `${name}.gz`;
    return {
      content: await createFileContent(bytesOf(name), names.has(gzipped) ? bytesOf(gzipped) : undefined),
      contentType,
      immutable: name.startsWith(hashedFolder),
    };
  };

  return {
    page,
    find(name) {
      const contentType = contentTypes[extname(name)];
      if (contentType === undefined || !names.has(name)) return undefined;
      const known = files.get(name);
      if (known) return known;
      const file = read(name, contentType);
      files.set(name, file);
      file.catch(() => files.delete(name));
      return file;
    },
  };
}
