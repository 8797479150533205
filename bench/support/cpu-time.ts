/** CPU time of a process and its descendants by kind of thread, from /proc of Linux. */
import { readdirSync, readFileSync } from 'node:fs';

/** Nanoseconds on a CPU since the start. Node signs in libuv's pool; V8's threads collect garbage and compile. */
export interface CpuTime {
  readonly main: number;
  readonly pool: number;
  readonly v8: number;
  /** Other threads that run, and child processes that ended. */
  readonly other: number;
}

export const canMeasureCpu = process.platform === 'linux';
export const notMeasured = 'not measured here';

/** Undefined where there is no /proc. */
export function cpuTimeOf(pid: number): CpuTime | undefined {
  if (!canMeasureCpu) return undefined;
  const times = { main: 0, pool: 0, v8: 0, other: 0 };
  for (const each of withDescendants(pid)) {
    times.other += endedChildren(each);
    for (const thread of names(`/proc/${each}/task`)) {
      const task = `/proc/${each}/task/${thread}`;
      const nanoseconds = Number(read(`${task}/schedstat`).split(' ')[0]);
      times[kindOf(thread === String(each), read(`${task}/comm`).trim())] += nanoseconds;
    }
  }
  return times;
}

/** Seconds of this process's main thread on a CPU; NaN where it is not measured. */
export const mainSeconds = (): number => (cpuTimeOf(process.pid)?.main ?? Number.NaN) / 1e9;

/** Nanoseconds of the PostgreSQL processes that serve one database; their titles name it. Those that ended are not included. */
export const databaseTimeOf = (postmaster: number, database: string): number =>
  withDescendants(postmaster)
    .filter((pid) => read(`/proc/${pid}/cmdline`).includes(` ${database} `))
    .reduce((sum, pid) => sum + Number(read(`/proc/${pid}/schedstat`).split(' ')[0]), 0);

export const totalOf = ({ main, pool, v8, other }: CpuTime): number => main + pool + v8 + other;

export const difference = (after: CpuTime, before: CpuTime): CpuTime => ({
  main: after.main - before.main,
  pool: after.pool - before.pool,
  v8: after.v8 - before.v8,
  other: after.other - before.other,
});

function kindOf(leader: boolean, name: string): keyof CpuTime {
  if (leader) return 'main';
  if (name === 'libuv-worker') return 'pool';
  return /V8Worker|^DelayedTask/.test(name) ? 'v8' : 'other';
}

/** A parent gets the time of a child that ended, and of the child's own ended children, when it waits for it. */
function endedChildren(pid: number): number {
  const [, , , , , , , , , , , , , user = 0, system = 0] = statOf(pid);
  return (Number(user) + Number(system)) * nanosecondsPerTick;
}

/** USER_HZ is 100 on all architectures that Node supports. */
const nanosecondsPerTick = 1e7;

export function withDescendants(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of names('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const parent = Number(statOf(Number(name))[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const found = [pid];
  for (const each of found) found.push(...(children.get(each) ?? []));
  return found;
}

/** The fields after the name, which can contain spaces: state, parent, … */
const statOf = (pid: number): string[] => {
  const stat = read(`/proc/${pid}/stat`);
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
};

/** Empty for a process or thread that has ended. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
