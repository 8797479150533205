/** What a command knows of the process that runs it. `main.ts` at the root passes the real process, tests pass streams of their own. */
import { Console } from 'node:console';
import type { Readable, Writable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import type { Environment } from '../kernel/config/config.ts';
import type { ProcessControl } from '../kernel/lifecycle.ts';

export type Input = Readable & { readonly isTTY?: boolean };
export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** The streams of a process, its signals and its end. */
export interface Streams extends ProcessControl {
  readonly stdin: Input;
  /** Standard input for a synchronous read. A command uses the stream or the descriptor, not both. */
  readonly stdinDescriptor: number;
  readonly stdout: Output;
  readonly stderr: Output;
  /** The wait between two attempts; a test shortens it. */
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
}

export interface Io extends Required<Streams> {
  readonly env: Environment;
  readonly console: Console;
  /** Undefined: a server runs on after its start, until a signal ends the process. */
  exitCode: number | undefined;
}

export const createIo = (env: Environment, streams: Streams): Io => ({
  env,
  // Not read before a command needs it: the stream of a pipe makes its descriptor non-blocking.
  get stdin() {
    return streams.stdin;
  },
  stdinDescriptor: streams.stdinDescriptor,
  stdout: streams.stdout,
  stderr: streams.stderr,
  sleep: streams.sleep ?? ((ms, signal) => setTimeout(ms, undefined, signal && { signal })),
  onSignal: streams.onSignal,
  exit: streams.exit,
  console: new Console({ stdout: streams.stdout, stderr: streams.stderr }),
  exitCode: 0,
});
