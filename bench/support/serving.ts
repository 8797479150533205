/** Starts the measured servers as child processes, on the Node that runs the bench. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { fromEnvironment } from './rounds.ts';

export const bin = fileURLToPath(new URL('../../bin/countersign.js', import.meta.url));
/** The flags of `npm run serve`; docs/decisions/004-policy-engine.md has the reason. */
export const serve = ['--liftoff-only', '--preserve-symlinks', bin, 'serve'];

export interface Serving {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

export interface KeyPems {
  readonly privatePem: string;
  readonly publicPem: string;
}

/** Several processes share their rate windows through BENCH_REDIS_URL. */
export const serveOurs = (
  databaseUrl: string,
  { privatePem, publicPem }: KeyPems,
  more: Record<string, string> = {},
): Promise<Serving> =>
  startServer(serve, {
    ...more,
    DATABASE_URL: databaseUrl,
    REDIS_URL: process.env.BENCH_REDIS_URL ?? 'memory://',
    WEB_CONCURRENCY: String(fromEnvironment('BENCH_WEB_CONCURRENCY', 1)),
    JWT_PRIVATE_KEY: privatePem,
    JWT_PUBLIC_KEY: publicPem,
    HOST: '127.0.0.1',
    LOG_LEVEL: 'warn',
    RATE_LIMIT_PER_MINUTE: '1000000000',
  });

/** A program of the folder servers/ that listens on PORT and answers /health. */
export const serveProgram = (file: string, env: Record<string, string>): Promise<Serving> =>
  startServer([fileURLToPath(new URL(`servers/${file}`, import.meta.url))], env);

async function startServer(args: string[], env: Record<string, string>): Promise<Serving> {
  const port = await freePort();
  const child = spawn(process.execPath, args, {
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      BASE_URL: `http://localhost:${port}`,
      ...env,
      PORT: String(port),
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  // Kills the server when the bench itself exits early.
  const kill = () => child.kill();
  process.once('exit', kill);
  const stop = async () => {
    await endServer(child);
    process.off('exit', kill);
  };
  await firstAnswer(port, child).catch(async (error) => {
    await stop();
    throw error;
  });
  return { url: `http://127.0.0.1:${port}`, pid: child.pid ?? 0, stop };
}

export async function endServer(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

export async function firstAnswer(port: number, child: ChildProcess): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    const response = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
    await response?.arrayBuffer();
    if (response?.ok) return;
    await sleep(5);
  }
  throw new Error(`the server ended with code ${child.exitCode} before it answered`);
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

/** Stops all servers afterwards, also when one fails to start. */
export async function whileServing<Starting extends readonly Promise<Serving>[], T>(
  starting: readonly [...Starting],
  work: (servers: { [Each in keyof Starting]: Serving }) => Promise<T>,
): Promise<T> {
  const started = await Promise.allSettled(starting);
  try {
    return await work((await Promise.all(starting)) as { [Each in keyof Starting]: Serving });
  } finally {
    await Promise.all(started.map((start) => start.status === 'fulfilled' && start.value.stop()));
  }
}
