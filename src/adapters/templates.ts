/**
 * Folders of template files, read when first asked for and then kept. Files in the folder `shared` are part of every
 * template. npm leaves files with certain names (.gitignore) out of packages and git heeds them, so a name that is to
 * begin with a dot begins with `_` here.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';

export interface TemplateFile {
  readonly path: string;
  readonly text: string;
}

export function createTemplates(folder: string): (name: string) => Promise<readonly TemplateFile[]> {
  const kept = new Map<string, Promise<readonly TemplateFile[]>>();
  return (name) => {
    const known = kept.get(name);
    if (known) return known;
    const reading = readTemplate([join(folder, 'shared'), join(folder, name)]).catch((error) => {
      kept.delete(name);
      throw error;
    });
    kept.set(name, reading);
    return reading;
  };
}

async function readTemplate(folders: readonly string[]): Promise<readonly TemplateFile[]> {
  const files = (await Promise.all(folders.map(read))).flat();
  // By code unit, whatever the machine's language.
  return files.sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function read(folder: string): Promise<TemplateFile[]> {
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
