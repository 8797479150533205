/**
 * The files of a build. The first request lists the folder and so fixes the names that are served: a path cannot lead out of it. A
 * file is read when it is first asked for, and memory keeps it compressed.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';
import type { BuiltFile, BuiltFiles } from '../kernel/http/responses/built-files.ts';
import { createFileContent } from '../kernel/http/responses/static-content.ts';

const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
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

export function createBuiltFiles(folder: string): BuiltFiles {
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
    find: async (name) => (await load())?.find(name),
    pageText: async (name) => (await load())?.pageText(name),
  };
}

interface Build {
  find(name: string): Promise<BuiltFile> | undefined;
  pageText(name: string): Promise<string>;
}

async function readBuild(folder: string): Promise<Build> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = new Set(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/')),
  );

  const read = async (name: string, contentType: string): Promise<BuiltFile> => {
    const bytesOf = (file: string) => () => readFile(join(folder, file));
    const gzipped = `${name}.gz`;
    return {
      content: await createFileContent(bytesOf(name), names.has(gzipped) ? bytesOf(gzipped) : undefined),
      contentType,
      immutable: name.startsWith(hashedFolder),
    };
  };

  const readOnce = readEachOnce(read);
  return {
    find(name) {
      const contentType = contentTypes[extname(name)];
      return contentType === undefined || !names.has(name) ? undefined : readOnce(name, contentType);
    },
    pageText: readEachOnce((name) => readFile(join(folder, name), 'utf8')),
  };
}

/** By the first argument. A failure is not remembered. */
function readEachOnce<Rest extends unknown[], Value>(read: (name: string, ...rest: Rest) => Promise<Value>) {
  const known = new Map<string, Promise<Value>>();
  return (name: string, ...rest: Rest): Promise<Value> => {
    const before = known.get(name);
    if (before) return before;
    const value = read(name, ...rest);
    known.set(name, value);
    value.catch(() => known.delete(name));
    return value;
  };
}
