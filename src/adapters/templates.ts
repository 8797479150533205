/**
 * Reads folders of template files, once each. Files in the folder `shared` are part of every template. npm leaves some names
 * (.gitignore) out of packages and git applies them, so `_` stands for a leading dot here. A template can also have files
 * of another folder, as they are.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

interface TemplateFile {
  readonly path: string;
  readonly text: string;
}

/** Files of the folder `from` that are in the folder `to` of the template. */
interface CopiedFiles {
  readonly from: string;
  readonly to: string;
  /** Of its path in the folder. */
  includes(path: string): boolean;
}

export function createTemplates(
  folder: string,
  copied: Readonly<Record<string, CopiedFiles>> = {},
): (name: string) => Promise<readonly TemplateFile[]> {
  const cache = new Map<string, Promise<readonly TemplateFile[]>>();
  return (name) => {
    const cached = cache.get(name);
    if (cached) return cached;
    const reading = readTemplate([join(folder, 'shared'), join(folder, name)], copied[name]).catch(
      (error) => {
        cache.delete(name);
        throw error;
      },
    );
    cache.set(name, reading);
    return reading;
  };
}

async function readTemplate(
  folders: readonly string[],
  copied: CopiedFiles | undefined,
): Promise<readonly TemplateFile[]> {
  const own = await Promise.all(folders.map((folder) => readFolder(folder, withLeadingDots)));
  const files = [...own.flat(), ...(copied ? await readCopied(copied) : [])];
  // By code unit, independent of the machine's locale.
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

const readCopied = ({ from, to, includes }: CopiedFiles): Promise<TemplateFile[]> =>
  readFolder(from, (path) => (includes(path) ? `${to}/${path}` : undefined));

const withLeadingDots = (path: string): string =>
  path
    .split('/')
    .map((part) => part.replace(/^_(?=[a-z])/, '.'))
    .join('/');

/** `rename` gives the path in the template; undefined leaves the file out. */
async function readFolder(
  folder: string,
  rename: (path: string) => string | undefined,
): Promise<TemplateFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .map((file) => ({ file, path: rename(relative(folder, file).split(sep).join('/')) }))
    .filter((each): each is { file: string; path: string } => each.path !== undefined);
  return Promise.all(files.map(async ({ file, path }) => ({ path, text: await readFile(file, 'utf8') })));
}
