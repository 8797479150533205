/**
 * Commands inside the test's process: a process of their own costs 0.8 seconds of CPU time each. test/processes/entry.test.ts starts
 * every command once as a process.
 */
import { closeSync, createReadStream, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createIo, type Input, type Io, type Output, type Streams } from '../../src/commands/io.ts';
import { main } from '../../src/commands/main.ts';

export interface CommandOptions {
  /** All variables of the command, besides PATH and HOME. */
  readonly env: Record<string, string>;
  readonly cwd: string;
  /** Standard input; without it, it is empty. */
  readonly input?: string | undefined;
  /** Standard output and standard error are a terminal of this width. */
  readonly columns?: number;
  /** All streams are a terminal. Pairs of the text of a question and the keys to press: "\r" is Enter, "\u0003" Ctrl-C. */
  readonly answers?: readonly (readonly [question: string, keys: string])[];
  /** Waits between attempts last a fiftieth of their time. */
  readonly shortWaits?: boolean;
}

export interface RunningCommand {
  stdout(): string;
  stderr(): string;
  /** Both, as they came. */
  output(): string;
  hasEnded(): boolean;
  kill(signal: NodeJS.Signals): void;
  /** Its exit code. Rejects when it does not end within a limit. */
  gone(): Promise<number>;
}

const limitMs = 120_000;

/** A HOME of its own: a file with profiles in the user's one must not matter. */
export function startInProcess(args: readonly string[], options: CommandOptions): RunningCommand {
  const { env, cwd, input = '', answers } = options;
  const columns = options.columns ?? (answers && 100);
  const written = { stdout: '', stderr: '', output: '' };
  const listeners = new Set<(signal: NodeJS.Signals) => void>();
  const { promise: exited, resolve: exit } = Promise.withResolvers<number>();
  const leave = enter(cwd);
  const stdin = answers ? openKeyboard(answers) : openInput(input);
  const add = (text: string) => {
    written.output += text;
    stdin.onOutput(text);
  };
  const streams: Streams = {
    ...stdin.streams,
    stdout: outputTo((text) => {
      written.stdout += text;
      add(text);
    }, columns),
    stderr: outputTo((text) => {
      written.stderr += text;
      add(text);
    }, columns),
    onSignal(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    exit,
    ...(options.shortWaits && { sleep: (ms, signal) => sleep(ms / 50, undefined, signal && { signal }) }),
  };
  const running = main(args, { PATH: process.env.PATH, HOME: cwd, ...env }, streams);
  let over = false;
  const ended = Promise.race([running.then((code) => code ?? exited), exited]).finally(() => {
    over = true;
    stdin.close();
    leave();
  });
  ended.catch(() => {});
  return {
    stdout: () => written.stdout,
    stderr: () => written.stderr,
    output: () => written.output,
    hasEnded: () => over,
    kill(signal) {
      for (const listener of listeners) listener(signal);
    },
    gone() {
      const late = Promise.withResolvers<never>();
      const reason = `${args.join(' ')}: did not end within ${limitMs / 1_000} s`;
      const timer = setTimeout(() => late.reject(new Error(`${reason}\n${written.output}`)), limitMs);
      return Promise.race([ended, late.promise]).finally(() => clearTimeout(timer));
    },
  };
}

let inside = 0;
let outside = '';

/** The folder is one of the whole process: commands that run at the same time share it. */
function enter(folder: string): () => void {
  if (inside === 0) {
    outside = process.cwd();
    process.chdir(folder);
  } else if (process.cwd() !== folder)
    throw new Error(`another command runs in ${process.cwd()}, so none can start in ${folder}`);
  inside += 1;
  return () => {
    inside -= 1;
    if (inside === 0) process.chdir(outside);
  };
}

function openInput(text: string) {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-input-'));
  const file = join(folder, 'input');
  writeFileSync(file, text);
  const descriptor = openSync(file, 'r');
  return {
    streams: {
      get stdin() {
        return createReadStream('', { fd: descriptor, autoClose: false });
      },
      stdinDescriptor: descriptor,
    },
    onOutput() {},
    close() {
      closeSync(descriptor);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Answers each question when its text appears. */
function openKeyboard(answers: NonNullable<CommandOptions['answers']>) {
  const left = [...answers];
  const stdin: Input = Object.assign(new PassThrough(), { isTTY: true });
  let shown = '';
  return {
    streams: { stdin, stdinDescriptor: -1 },
    onOutput(text: string) {
      shown += text;
      const [question, keys] = left[0] ?? [];
      if (question === undefined || !shown.includes(question)) return;
      left.shift();
      shown = '';
      setImmediate(() => stdin.push(keys));
    },
    close: () => void stdin.destroy(),
  };
}

function outputTo(add: (text: string) => void, columns?: number): Output {
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, done) {
      add(chunk.toString());
      done();
    },
  });
  return columns === undefined ? stream : Object.assign(stream, { isTTY: true, columns });
}

/** For tests that call a part of a command: no input, and `add` gets its output. */
export function ioFor(env: Record<string, string>, add: (text: string) => void = () => {}): Io {
  const output = outputTo(add);
  return createIo(env, {
    get stdin(): never {
      throw new Error('the test has no standard input');
    },
    stdinDescriptor: -1,
    stdout: output,
    stderr: output,
    onSignal: () => () => {},
    exit() {},
  });
}
