/**
 * Test files of one folder share a process: loading our modules and warming them up costs more than most files do. A group is
 * a small module that imports its files one after the other, each inside a test of its own, so that the hooks of a file
 * run before the next file starts.
 */
import { writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

export interface Group {
  /** The module that node:test runs. */
  readonly module: string;
  readonly files: readonly string[];
}

/** A crash ends the whole group, and the last group to start should be short. */
const maxFiles = 8;

/** Per file, as for a file with a process of its own. */
const timeoutMs = 300_000;

/** Files that start programs, or measure their own process, keep a process of their own. */
const sharesProcess = (file: string) => file.startsWith('src/');

/** Writes the modules into `folder`. Files keep their order within a group, and a group stands where its first file stood. */
export function groupFiles(files: readonly string[], folder: string): Group[] {
  const groups: { module: string; files: string[] }[] = [];
  const open = new Map<string, string[]>();
  for (const file of files) {
    const key = dirname(file);
    const members = sharesProcess(file) ? open.get(key) : undefined;
    if (members && members.length < maxFiles) {
      members.push(file);
      continue;
    }
    const own = [file];
    open.set(key, own);
    groups.push({ module: resolve(file), files: own });
  }
  return groups.map((group, index) =>
    group.files.length > 1 ? writeGroup(group.files, folder, index) : group,
  );
}

function writeGroup(files: readonly string[], folder: string, index: number): Group {
  const module = join(folder, `group-${index}.test.mjs`);
  const lines = files.map((file) => {
    const address = pathToFileURL(resolve(file)).href;
    return `await test(${JSON.stringify(file)}, { timeout: ${timeoutMs} }, () => import(${JSON.stringify(address)}));\n`;
  });
  writeFileSync(module, `import { test } from 'node:test';\n${lines.join('')}`);
  return { module, files };
}
