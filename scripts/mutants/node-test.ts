/**
 * Stands in for node:test inside a worker. Its tests are those of node:test, but a test that was not ordered, or that comes after a
 * failure, does nothing; and the coverage of each test is counted separately.
 */
import * as real from 'node:test';
import { mutantState, setupPosition } from './protocol.ts';

type Body = (...args: unknown[]) => unknown;

export interface FileRun {
  readonly tests: { name: string; seconds: number }[];
  readonly ordered: ReadonlySet<number> | undefined;
  failure?: { readonly test: string; readonly index?: number; readonly error: string };
}

let current: FileRun = { tests: [], ordered: undefined };
export const startRun = (run: FileRun): void => {
  current = run;
};

const describeError = (error: unknown): string => String(error instanceof Error ? error.message : error);

function noteFailure(run: FileRun, test: string, error: unknown, index?: number): void {
  run.failure ??= { test, error: describeError(error), ...(index !== undefined && { index }) };
}

function wrapTest(name: string, body: Body): Body {
  const run = current;
  const entry = { name, seconds: 0 };
  const index = run.tests.push(entry) - 1;
  return async (context) => {
    if (run.failure || (run.ordered && !run.ordered.has(index))) return;
    const state = mutantState();
    const started = performance.now();
    state.currentTestId = String(index);
    try {
      await body(context);
    } catch (error) {
      noteFailure(run, name, error, index);
      throw error;
    } finally {
      state.currentTestId = String(setupPosition);
      entry.seconds = (performance.now() - started) / 1000;
    }
  };
}

function wrapHook(body: Body): Body {
  const run = current;
  return async (...args) => {
    try {
      await body(...args);
    } catch (error) {
      noteFailure(run, 'a hook', error);
      throw error;
    }
  };
}

const replaceBody = (args: unknown[], wrap: (body: Body) => Body) =>
  args.map((arg) => (typeof arg === 'function' ? wrap(arg as Body) : arg));

type Register = (...args: unknown[]) => unknown;
const testWith =
  (register: Register): Register =>
  (...args) =>
    register(...replaceBody(args, (body) => wrapTest(String(args[0]), body)));
const hookWith =
  (register: Register): Register =>
  (...args) =>
    register(...replaceBody(args, wrapHook));

export const it = Object.assign(testWith(real.it as Register), {
  skip: real.it.skip,
  todo: real.it.todo,
  only: testWith(real.it.only as Register),
});
export const test = it;
export const before = hookWith(real.before as Register);
export const after = hookWith(real.after as Register);
export const beforeEach = hookWith(real.beforeEach as Register);
export const afterEach = hookWith(real.afterEach as Register);
export const { describe, suite, mock } = real;
export default it;
