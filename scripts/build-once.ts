/** Builds that take seconds, and happen only when their sources have changed. */
import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

interface BuildOnce<Result extends object> {
  readonly root: string;
  /** As lines of the terminal name it. */
  readonly name: string;
  /** The folder that the server serves. */
  readonly folder: string;
  /** Patterns of the files that the build reads. The versions of the packages count, too. */
  readonly sources: readonly string[];
  /** Writes the build into a folder that does not exist yet. */
  build(outDir: string): Promise<Result>;
  /** What the line after the build says of it. */
  describe?(result: Result): string;
}

export type Built<Result> = Result & { readonly hash: string };

export function createBuildOnce<Result extends object>(options: BuildOnce<Result>) {
  const { root, name, folder } = options;
  /** Outside the folder that the server serves. */
  const stamp = `${folder}.hash`;

  const hashOfSources = (): string => {
    const files = globSync([...options.sources], { cwd: root })
      .filter((file) => statSync(join(root, file)).isFile())
      .sort();
    const hash = createHash('sha256');
    for (const file of [...files, 'package-lock.json']) {
      hash.update(`${file}\0`);
      hash.update(readFileSync(join(root, file)));
    }
    return hash.digest('hex');
  };

  /** The build of the present sources, if there is one. */
  const current = (hash = hashOfSources()): Built<Result> | undefined => {
    if (!existsSync(stamp) || !existsSync(join(folder, 'index.html'))) return undefined;
    const last: Built<Result> = JSON.parse(readFileSync(stamp, 'utf8'));
    return last.hash === hash ? last : undefined;
  };

  return {
    current,
    /** Builds unless there is a build of these sources. */
    async build(print: (line: string) => void = () => {}): Promise<void> {
      mkdirSync(dirname(folder), { recursive: true });
      removeUnfinished(folder);
      const hash = hashOfSources();
      if (current(hash)) return;
      const started = performance.now();
      print(`Building the ${name} (once, and again when its sources change)…`);
      // A folder of its own, so that a server of this checkout never serves half a build.
      const temporary = `${folder}-${process.pid}`;
      try {
        const result = await options.build(temporary);
        rmSync(folder, { recursive: true, force: true });
        renameSync(temporary, folder);
        writeFileSync(stamp, JSON.stringify({ hash, ...result }));
        const seconds = ((performance.now() - started) / 1000).toFixed(1);
        print(
          `Built dist/${basename(folder)} in ${seconds} s${options.describe ? `; ${options.describe(result)}` : ''}.`,
        );
      } finally {
        rmSync(temporary, { recursive: true, force: true });
      }
    },
  };
}

/** For a build script that npm runs, too. An installation goes on without the build, because the API works without it. */
export async function runBuild(
  label: string,
  tool: string,
  build: (print: (line: string) => void) => Promise<void>,
): Promise<void> {
  if (!existsSync(new URL(`../node_modules/${tool}`, import.meta.url)))
    return console.log(`${label} not built: the development packages are not installed.`);
  await build(console.log).catch((error) => {
    if (process.env.npm_lifecycle_event !== 'prepare') throw error;
    console.log(`${label} not built: ${error.message}`);
  });
}

/** Of builds that were killed. */
function removeUnfinished(folder: string): void {
  for (const name of readdirSync(dirname(folder))) {
    const [, id] = /^(\d+)(?:-|$)/.exec(name.slice(`${basename(folder)}-`.length)) ?? [];
    if (!name.startsWith(`${basename(folder)}-`) || !id || isRunning(Number(id))) continue;
    rmSync(join(dirname(folder), name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
