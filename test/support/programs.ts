/** Child processes: our own commands, redis-server and stripe-mock. Each is ended by its process id. */
import { AssertionError } from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, closeSync, constants, existsSync, mkdtempSync, openSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { createApp } from '../../src/app.ts';
import { createOperator } from '../../src/commands/bootstrap.ts';
import type { ServeOptions } from '../../src/commands/serve.ts';
import { loadConfig } from '../../src/kernel/config/config.ts';
import { createLog } from '../../src/kernel/observability/log.ts';

export const bin = fileURLToPath(new URL('../../bin/countersign.js', import.meta.url));

const serveWithLimits = fileURLToPath(new URL('serve-with-limits.ts', import.meta.url));

export interface Program {
  readonly child: ChildProcess;
  /** The output so far, stdout and stderr. */
  output(): string;
  stdout(): string;
  /** Its exit code (or signal), once it has ended. */
  ended(): Promise<number | string>;
  /** The same, after all its child processes have closed the output too; fails after a timeout. */
  gone(ms?: number): Promise<number | string>;
  hasEnded(): boolean;
  kill(signal: NodeJS.Signals): void;
}

export function startProgram(
  command: string,
  args: readonly string[],
  {
    input,
    ...options
  }: {
    env?: Record<string, string | undefined>;
    cwd?: string;
    input?: string | null;
    uid?: number;
    gid?: number;
  } = {},
): Program {
  const child = spawn(command, args, {
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    ...options,
    env: options.env as NodeJS.ProcessEnv,
  });
  // Null: the test writes to it.
  if (typeof input === 'string') child.stdin?.end(input);
  let printed = '';
  let stdout = '';
  child.stdout?.on('data', (chunk) => {
    printed += chunk;
    stdout += chunk;
  });
  child.stderr?.on('data', (chunk) => (printed += chunk));
  const end = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string);
  const closed = once(child, 'close').then(() => end);
  after(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await end;
    // Processes it left behind hold the pipes open; a failed test must not wait for them.
    child.stdout?.destroy();
    child.stderr?.destroy();
  });
  return {
    child,
    output: () => printed,
    stdout: () => stdout,
    ended: () => end,
    async gone(ms = 180_000) {
      const timer = new AbortController();
      const late = sleep(ms, undefined, { signal: timer.signal }).then(() => {
        throw new Error(`${command} ${args.join(' ')} is not gone after ${ms} ms\n${printed}`);
      });
      return Promise.race([closed, late]).finally(() => timer.abort());
    },
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    kill: (signal) => void child.kill(signal),
  };
}

/** A tenth of the time to load the modules is the search for links in their paths, and there are none. */
const cheapStart = ['--liftoff-only', '--preserve-symlinks'];

/** `countersign …` with exactly these variables, besides PATH and HOME. It builds no console. */
export const startCountersign = (
  args: readonly string[],
  env: Record<string, string>,
  cwd?: string,
  input?: string,
): Program => startScript(bin, args, env, cwd, input);

const startScript = (
  script: string,
  args: readonly string[],
  env: Record<string, string>,
  cwd?: string,
  input?: string,
): Program =>
  startProgram(process.execPath, [...cheapStart, script, ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, CONSOLE_BUILD: 'false', ...env },
    ...(cwd !== undefined && { cwd }),
    ...(input !== undefined && { input }),
  });

const portCount = 20_000;
let portsReserved = 0;

/**
 * Below the ephemeral port range, so that no outgoing connection takes it before the server does. Reserved once
 * per test run, so that no concurrent test file takes it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + ((process.pid * 100 + portsReserved++) % portCount);
    if (!reservePort(port)) continue;
    const server = createServer().listen(port, '127.0.0.1');
    const free = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    server.close();
    if (free) return port;
  }
}

let portsFolder = process.env.TEST_PORTS;

function reservePort(port: number): boolean {
  if (portsReserved > portCount) throw new Error('no port is left');
  portsFolder ??= mkdtempSync(join(tmpdir(), 'countersign-ports-'));
  const marker = join(portsFolder, String(port));
  try {
    closeSync(openSync(marker, 'wx'));
    return true;
  } catch (error) {
    if (existsSync(marker)) return false;
    throw error;
  }
}

/**
 * Polls until `ask` resolves to a value, or fails after the timeout or when `program` ends, with its output. `ask` resolves to
 * undefined while the condition does not hold, and may throw; an AssertionError fails at once.
 */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined>,
  program?: Pick<Program, 'hasEnded' | 'output'>,
  ms = 120_000,
): Promise<T> {
  const deadline = performance.now() + ms;
  let cause: unknown;
  for (;;) {
    const answer = await ask().catch((error) => {
      if (error instanceof AssertionError) throw error;
      cause = error;
    });
    if (answer !== undefined) return answer;
    const over = program?.hasEnded() ?? false;
    if (over || performance.now() > deadline) {
      const why = over ? 'the program ended' : 'not in time';
      throw new Error(`${what}: ${why}\n${program?.output() ?? ''}`, { cause });
    }
    await sleep(25);
  }
}

export const untilHealthy = (
  port: number,
  program: Pick<Program, 'hasEnded' | 'output'>,
): Promise<Response> =>
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

/** Chromium, preferably without its windows, which takes a third less CPU time. Undefined when it is not installed. */
export const findBrowser = (): string | undefined =>
  ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'].map(findProgram).find(Boolean);

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

/** Undefined when stripe-mock is not installed. */
export async function startStripeMock(): Promise<{ url: string; program: Program } | undefined> {
  const path = findProgram('stripe-mock');
  if (!path) return undefined;
  const port = await freePort();
  const program = startProgram(path, ['-http-addr', `127.0.0.1:${port}`], {
    env: { PATH: process.env.PATH },
    cwd: '/',
  });
  const url = `http://127.0.0.1:${port}`;
  await until(
    'stripe-mock',
    async () => {
      // It refuses requests without a key, which is enough.
      await (await fetch(url)).arrayBuffer();
      return true;
    },
    program,
  );
  return { url, program };
}

/** Runs commands on a separate connection to Redis. */
export async function withRedis<T>(port: number, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(port, '127.0.0.1');
  try {
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

export interface Service {
  readonly program: Program;
  readonly port: number;
  readonly url: string;
}

/** `countersign serve` on a port of its own, once it answers. */
export async function startServe(
  env: Record<string, string>,
  args: readonly string[] = [],
  limits?: ServeOptions['limits'],
): Promise<Service> {
  const port = await freePort();
  const variables = { HOST: '127.0.0.1', PORT: String(port), ...env };
  const program = limits
    ? startScript(serveWithLimits, [JSON.stringify(limits)], variables)
    : startCountersign(['serve', ...args], variables);
  await untilHealthy(port, program);
  return { program, port, url: `http://127.0.0.1:${port}` };
}

export interface Client {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The operator that `countersign bootstrap` prints. */
export async function bootstrap(env: Record<string, string>, ...args: string[]): Promise<Client> {
  const program = startCountersign(['bootstrap', '--json', ...args], env);
  if ((await program.gone()) !== 0) throw new Error(program.output());
  return JSON.parse(program.stdout());
}

/** The same operator, created in this process: a child process would cost a second of CPU. */
export async function makeOperator(env: Record<string, string>): Promise<Client> {
  const app = await createApp({ config: loadConfig(env), log: createLog({ level: 'silent' }) });
  try {
    await app.prepare({ takeOver: false });
    return await createOperator(app, false);
  } finally {
    await app.close();
  }
}

export const askToken = (url: string, { clientId, clientSecret }: Client): Promise<Response> =>
  fetch(`${url}/api/v1/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
    }),
  });

/** The header that carries an access token of this client. */
export async function authorize(url: string, client: Client): Promise<{ authorization: string }> {
  const response = await askToken(url, client);
  const text = await response.text();
  if (!response.ok) throw new Error(`no token: ${response.status} ${text}`);
  return { authorization: `Bearer ${JSON.parse(text).access_token}` };
}
