/** A worker process that runs orders one at a time, and is replaced when it hangs, dies or has run for long. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Order, Outcome } from './protocol.ts';

/** Memory and forgotten timers of mutants add up. */
const maxRuns = 150;
const loadSeconds = 120;

export type Result = Outcome | 'timeout';

interface Options {
  readonly sourcesFile: string;
  readonly variables: Record<string, string>;
}

export function createWorker({ sourcesFile, variables }: Options) {
  let child: ChildProcess | undefined;
  let runs = 0;
  let loadedWith: string | undefined;

  const next = (from: ChildProcess, seconds: number) =>
    new Promise<unknown>((resolve) => {
      const timer = setTimeout(() => settle('timeout'), seconds * 1000);
      const ended = () => settle('ended');
      function settle(value: unknown) {
        clearTimeout(timer);
        from.off('message', settle).off('exit', ended);
        resolve(value);
      }
      from.once('message', settle).once('exit', ended);
    });

  function stop() {
    child?.kill('SIGKILL');
    child = undefined;
    runs = 0;
  }

  async function start(mutant?: string): Promise<ChildProcess> {
    stop();
    loadedWith = mutant;
    child = fork(fileURLToPath(new URL('worker.ts', import.meta.url)), [sourcesFile], {
      env: { ...process.env, ...variables, ...(mutant !== undefined && { MUTANT: mutant }) },
      execArgv: ['--liftoff-only', '--preserve-symlinks', '--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    if ((await next(child, loadSeconds)) !== 'ready') throw new Error('a worker process does not start');
    return child;
  }

  return {
    stop,
    /** With `dedicated`, in a process that has loaded its modules with this mutant. */
    async run(order: Order, seconds: number, dedicated = false): Promise<Result> {
      const wanted = dedicated ? order.mutant : undefined;
      const used =
        child && loadedWith === wanted && runs < maxRuns ? child : await start(wanted).catch(() => undefined);
      if (!used) return { failure: { test: 'loading', error: 'the process ended' }, seconds: 0 };
      runs += 1;
      used.send(order);
      const answer = await next(used, seconds);
      if (typeof answer === 'string') stop();
      if (answer === 'ended')
        return { failure: { test: order.file, error: 'the process ended' }, seconds: 0 };
      return answer as Result;
    },
  };
}
