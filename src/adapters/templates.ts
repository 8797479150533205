/**
 * Reads folders of template files, once each. Files in the folder `shared` are part of every template. npm leaves some names
 * (.gitignore) out of packages and git applies them, so `_` stands for a leading dot here.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

export interface TemplateFile {
  readonly path: string;
  readonly text: string;
}

export function createTemplates(folder: string): (name: string) => Promise<readonly TemplateFile[]> {
  const cache = new Map<string, Promise<readonly TemplateFile[]>>();
  return (name) => {
    const cached = cache.get(name);
    if (cached) return cached;
    const reading = readTemplate([join(folder, 'shared'), join(folder, name)]).catch((error) => {
      cache.delete(name);
      throw error;
    });
    cache.set(name, reading);
    return reading;
  };
}

async function readTemplate(folders: readonly string[]): Promise<readonly TemplateFile[]> {
  const files = (await Promise.all(folders.map(readFolder))).flat();
  // By code unit, independent of the machine's locale.
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function readFolder(folder: string): Promise<TemplateFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  return Promise.all(
    files.map(async (file) => ({
      path: relative(folder, file)
        .split(sep)
        .map((part) => part.replace(/^_(?=[a-z])/, '.'))
        .join('/'),
      text: await readFile(file, 'utf8'),
    })),
  );
}
