/**
 * Gives the load generator the last CPU, and the measured processes all others. An overload sends more requests than the capacity,
 * so on shared CPUs the generator would take the time that it measures.
 */
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { withDescendants } from '../cpu-time.ts';

/** At the start: later the binding of this process would limit it. */
const cpus = availableParallelism();

/** False where it cannot be done: then all share the CPUs. */
export function separateGenerator(measured: readonly number[]): boolean {
  if (process.platform !== 'linux' || cpus < 2) return false;
  try {
    for (const pid of measured.flatMap(withDescendants)) bind(pid, `0-${cpus - 2}`);
    bind(process.pid, String(cpus - 1));
    return true;
  } catch {
    // No taskset, or not permitted.
    share(measured);
    return false;
  }
}

/** All processes may use all CPUs again. */
export function share(measured: readonly number[]): void {
  for (const pid of [process.pid, ...measured.flatMap(withDescendants)])
    try {
      bind(pid, `0-${cpus - 1}`);
    } catch {
      // As above, or the process has ended.
    }
}

/** With all threads of the process. */
const bind = (pid: number, cpus: string) =>
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', cpus, String(pid)], { stdio: 'ignore' });
