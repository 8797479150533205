/** The Redis that several serving processes share: BENCH_REDIS_URL, or a redis-server without persistence. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { endServer, freePort } from '../serving.ts';

/** Passes undefined where there is none. */
export async function withRedis<T>(work: (url: string | undefined) => Promise<T>): Promise<T> {
  if (process.env.BENCH_REDIS_URL) return work(process.env.BENCH_REDIS_URL);
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const child = spawn('redis-server', args, { stdio: 'ignore' });
  const started = await Promise.race([
    once(child, 'spawn').then(() => true),
    once(child, 'error').then(() => false),
  ]).catch(() => false);
  if (!started) return work(undefined);
  const kill = () => child.kill();
  process.once('exit', kill);
  try {
    while (!(await accepts(port))) {
      if (child.exitCode !== null) throw new Error(`redis-server ended with code ${child.exitCode}`);
      await sleep(20);
    }
    return await work(`redis://127.0.0.1:${port}`);
  } finally {
    await endServer(child);
    process.off('exit', kill);
  }
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
