/**
 * Most test files share processes: loading our modules and warming them up costs more than most files do. A group is a small module
 * that imports its files one after the other, each inside a test of its own, so that the hooks of a file run before the next file
 * starts.
 */
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isSlow } from './selection.ts';

export interface Group {
  /** The module that node:test runs. */
  readonly module: string;
  readonly files: readonly string[];
}

interface Kind {
  readonly of: RegExp;
  /** Files of a group, at most: a crash ends the whole group, and the last group to start should be short. */
  readonly maxFiles: number;
}
const kinds: readonly Kind[] = [
  { of: /^test\/faults\//, maxFiles: 3 },
  { of: /^(test|sdk\/typescript\/test)\/[^/]+$/, maxFiles: 6 },
  { of: /^src\//, maxFiles: 8 },
];

/** Each group opens its pages in a browser of its own. They are the longest, and start first. */
const browserFiles = /^test\/console\//;
const browserGroups = 3;

/** Per file; a busy machine may need ten times as long as usual. */
const timeoutMs = 600_000;

/** The others take long, or change their process: commands in process change its working directory. */
const sharesProcess = (file: string) =>
  browserFiles.test(file) || (kinds.some(({ of }) => of.test(file)) && !isSlow(file));

/** Keeps the order of the files, and writes the modules into `folder`. */
export function groupFiles(files: readonly string[], folder: string): Group[] {
  const alone = files
    .filter((file) => !sharesProcess(file))
    .map((file) => ({ module: resolve(file), files: [file] }));
  const ofConsole = files.filter((file) => browserFiles.test(file));
  const inBrowser = Array.from({ length: browserGroups }, (_, group) =>
    ofConsole.filter((_, index) => index % browserGroups === group),
  )
    .filter((group) => group.length > 0)
    .map((group, index) => writeGroup(group, join(folder, `console-${index}.test.mjs`), withBrowser));
  const together = kinds
    .flatMap(({ of, maxFiles }) => {
      const sharing = files.filter((file) => of.test(file) && sharesProcess(file));
      return Array.from({ length: Math.ceil(sharing.length / maxFiles) }, (_, index) =>
        sharing.slice(index * maxFiles, (index + 1) * maxFiles),
      );
    })
    .map((group, index) => writeGroup(group, join(folder, `group-${index}.test.mjs`)));
  return [
    ...inBrowser,
    ...alone.filter(({ files: [file = ''] }) => isSlow(file)),
    ...together,
    ...alone.filter(({ files: [file = ''] }) => !isSlow(file)),
  ];
}

/** The statements before and after the files. */
const withBrowser: readonly [string, string] = [
  `import { keepBrowser } from ${JSON.stringify(new URL('./browser.ts', import.meta.url).href)};\nconst closeBrowser = keepBrowser();\n`,
  'await closeBrowser();\n',
];

function writeGroup(
  files: readonly string[],
  module: string,
  [before, after]: readonly [string, string] = ['', ''],
): Group {
  const lines = files.map((file) => {
    const address = pathToFileURL(resolve(file)).href;
    return `await test(${JSON.stringify(file)}, { timeout: ${timeoutMs} }, () => import(${JSON.stringify(address)}));\n`;
  });
  // The handle is like the open port of a server: a wait for something without a handle does not end the process and the files that
  // follow. The runner names the test of an unhandled rejection, but not the place in the code.
  const text = `import { test } from 'node:test';
process.on('unhandledRejection', console.error);
${before}const handle = setInterval(() => {}, 60_000);
${lines.join('')}clearInterval(handle);
${after}`;
  writeFileSync(module, text);
  return { module, files };
}
