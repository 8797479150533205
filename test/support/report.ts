/**
 * Prints a line for each test file when it ends, with its failures, in the order in which files end: a file that hangs hides no other.
 * At the end it prints the names of the failed tests, the time per folder, and the slowest files.
 */
import { dirname } from 'node:path';
import type { EventData } from 'node:test';
import { inspect } from 'node:util';

interface FileResult {
  readonly file: string;
  readonly seconds: number;
}

interface Report {
  readonly line: (text: string) => void;
  /** The path of a test file, for the name of a test at the top level; undefined when it is an ordinary test. */
  readonly fileOf: (name: string) => string | undefined;
  readonly files: readonly string[];
  /** The files that a process runs, for the name of its module; undefined for any other name. */
  readonly filesOfProcess: (name: string) => readonly string[] | undefined;
}

export function createReport({ line, fileOf, files, filesOfProcess }: Report) {
  const results: FileResult[] = [];
  const failures: string[] = [];
  const failedFiles = new Set<string>();
  /** Of one process: the finished tests whose suite has not ended, by their level. */
  const unfinished = new Map<string, { tests: number; failed: { level: number; text: string }[] }>();

  /** A process can also fail after its last test: by its exit code, by a signal. */
  function completeProcess(ofProcess: readonly string[], error: unknown) {
    if (ofProcess.some((file) => failedFiles.has(file))) return;
    const text = `The process of ${ofProcess.join(', ')} failed after its tests\n${inspect(error, { colors: false })}`;
    failures.push(text);
    line(`✖ ${text}`);
  }

  function complete({ name, nesting, entryFile = name, details, skip }: EventData.TestComplete) {
    const ofProcess = nesting === 0 ? filesOfProcess(name) : undefined;
    if (ofProcess) {
      if (!details.passed) completeProcess(ofProcess, details.error);
      return;
    }
    const state = unfinished.get(entryFile) ?? { tests: 0, failed: [] };
    unfinished.set(entryFile, state);
    const isSuite = details.type === 'suite';
    const path = nesting === 0 ? fileOf(name) : undefined;
    if (!isSuite && path === undefined && skip === undefined) state.tests += 1;
    // A suite ends after its tests, so it gets to name them.
    const children = path === undefined ? state.failed.filter(({ level }) => level > nesting) : state.failed;
    if (!details.passed) {
      const own = state.failed.filter((test) => !children.includes(test));
      const prefix = path ?? name;
      const texts = children.length > 0 ? children.map(({ text }) => text) : [`\n${explain(details.error)}`];
      state.failed = [...own, ...texts.map((text) => ({ level: nesting, text: joinNames(prefix, text) }))];
    }
    if (path === undefined) return;
    const seconds = details.duration_ms / 1000;
    results.push({ file: path, seconds });
    const texts = state.failed.map(({ text }) => text);
    unfinished.delete(entryFile);
    failures.push(...texts);
    if (!details.passed) failedFiles.add(path);
    const count = `[${results.length}/${files.length}]`;
    line(`${details.passed ? '✔' : '✖'} ${count} ${path} (${state.tests} tests, ${seconds.toFixed(1)} s)`);
    for (const text of texts) line(indent(text));
  }

  return {
    complete,
    end() {
      const missing = files.filter((file) => !results.some((result) => result.file === file));
      if (missing.length > 0) line(`\nFiles without a result:\n${missing.map(indent).join('\n')}`);
      if (failures.length > 0)
        line(`\nFailures:\n${failures.map((text) => indent(firstLineOf(text))).join('\n')}`);
      const folders = Map.groupBy(results, ({ file }) => folderOf(file));
      const sums = [...folders].map(([name, ended]) => ({ name, seconds: sum(ended), count: ended.length }));
      line('\nTime per folder:');
      for (const { name, seconds, count } of sums.toSorted((a, b) => b.seconds - a.seconds))
        line(`  ${seconds.toFixed(1).padStart(7)} s  ${name} (${count} files)`);
      line('\nSlowest files:');
      for (const { file, seconds } of results.toSorted((a, b) => b.seconds - a.seconds).slice(0, 10))
        line(`  ${seconds.toFixed(1).padStart(7)} s  ${file}`);
    },
  };
}

const sum = (files: readonly FileResult[]) => files.reduce((total, { seconds }) => total + seconds, 0);

/** `src/features/audit`, `test/console`. */
const folderOf = (file: string): string => dirname(file).split('/').slice(0, 3).join('/');

const joinNames = (prefix: string, text: string) =>
  text.startsWith('\n') ? `${prefix}${text}` : `${prefix} > ${text}`;

const firstLineOf = (text: string) => text.slice(0, text.indexOf('\n'));

const indent = (text: string) => text.replace(/^/gm, '    ');

/** The runner wraps the error of a test. */
const explain = (error: Error | undefined): string => inspect(error?.cause ?? error, { colors: false });
