/** Real programs around the tests: our own commands as processes, and redis-server. Each is ended by its own id. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const bin = fileURLToPath(new URL('../bin/countersign.js', import.meta.url));

export interface Program {
  readonly child: ChildProcess;
  /** Everything it has printed so far, on both outputs. */
  output(): string;
  /** Its exit code (or signal), once it has ended. */
  ended(): Promise<number | string>;
  kill(signal: NodeJS.Signals): void;
}

export function startProgram(
  command: string,
  args: readonly string[],
  options: { env?: Record<string, string | undefined>; cwd?: string } = {},
): Program {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
    env: options.env as NodeJS.ProcessEnv,
  });
  let printed = '';
  child.stdout?.on('data', (chunk) => (printed += chunk));
  child.stderr?.on('data', (chunk) => (printed += chunk));
  const end = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string);
  after(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await end;
  });
  return { child, output: () => printed, ended: () => end, kill: (signal) => void child.kill(signal) };
}

/** `countersign …` with exactly these variables, besides PATH and HOME. */
export const startCountersign = (
  args: readonly string[],
  env: Record<string, string>,
  cwd?: string,
): Program =>
  startProgram(process.execPath, [bin, ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    ...(cwd !== undefined && { cwd }),
  });

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** Asks until the answer satisfies, or the time is up; a program that ended meanwhile shows what it printed. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined>,
  program?: Program,
  ms = 20_000,
): Promise<T> {
  const deadline = performance.now() + ms;
  for (;;) {
    const answer = await ask().catch(() => undefined);
    if (answer !== undefined) return answer;
    const over = program !== undefined && program.child.exitCode !== null;
    if (over || performance.now() > deadline) {
      throw new Error(`${what}: ${over ? 'the program ended' : 'not in time'}\n${program?.output() ?? ''}`);
    }
    await sleep(25);
  }
}

export const untilHealthy = (port: number, program: Program): Promise<Response> =>
  until(
    `/health on port ${port}`,
    async () => {
      const response = await fetch(`http://127.0.0.1:${port}/health`);
      await response.arrayBuffer();
      return response.ok ? response : undefined;
    },
    program,
  );

export function findProgram(name: string): string | undefined {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return join(folder, name);
    } catch {
      // Not in this folder.
    }
  }
  return undefined;
}

/** Undefined when redis-server is not installed. */
export async function startRedis(
  port?: number,
): Promise<{ url: string; port: number; program: Program } | undefined> {
  const path = findProgram('redis-server');
  if (!path) return undefined;
  const at = port ?? (await freePort());
  const program = startProgram(
    path,
    ['--port', String(at), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
    {
      env: { PATH: process.env.PATH },
      cwd: '/',
    },
  );
  await until(
    'redis-server',
    async () => (program.output().includes('Ready to accept connections') ? true : undefined),
    program,
  );
  return { url: `redis://127.0.0.1:${at}`, port: at, program };
}
