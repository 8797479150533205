/** How long `serve` takes from a cold start to its first /health, and its memory when idle. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import type { BenchContext, Result } from '../support/bench.ts';
import { median } from '../support/rounds.ts';
import { endServer, firstAnswer, freePort, serve } from '../support/serving.ts';

const rounds = 7;

/** A bare HTTP server: the minimum of any Node process. */
const bareServer = `require('node:http').createServer((q, r) => r.end('{}')).listen(process.env.PORT, '127.0.0.1')`;

export async function startup({ databaseUrl, log }: BenchContext): Promise<Result[]> {
  const { privatePem, publicPem } = generateKeyPair();
  const env = {
    PATH: process.env.PATH,
    DATABASE_URL: databaseUrl,
    REDIS_URL: 'memory://',
    JWT_PRIVATE_KEY: privatePem,
    JWT_PUBLIC_KEY: publicPem,
    HOST: '127.0.0.1',
    LOG_LEVEL: 'warn',
    NODE_ENV: 'production',
    BASE_URL: 'http://localhost',
  };
  log('migrating once, so that every round starts with the same database');
  await measure(serve, env);

  const ours: Sample[] = [];
  const bare: Sample[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    bare.push(await measure(['-e', bareServer], env));
    ours.push(await measure(serve, env));
    log(`round ${round} of ${rounds}: ${Math.round(ours.at(-1)?.ms ?? 0)} ms`);
  }
  const ms = median(ours.map((sample) => sample.ms));
  const megabytes = median(ours.map((sample) => sample.megabytes));
  return [
    {
      metric: 'cold start of serve to the first /health (median)',
      result: `${Math.round(ms)} ms`,
      baseline: `bare node:http server ${Math.round(median(bare.map((sample) => sample.ms)))} ms`,
      target: 'under 1500 ms',
      met: ms < 1500,
    },
    {
      metric: 'resident memory, idle after 3 s (median)',
      result: `${Math.round(megabytes)} MB`,
      baseline: `bare node:http server ${Math.round(median(bare.map((sample) => sample.megabytes)))} MB`,
      target: 'under 150 MB',
      met: megabytes < 150,
    },
  ];
}

interface Sample {
  readonly ms: number;
  readonly megabytes: number;
}

async function measure(args: string[], env: Record<string, string | undefined>): Promise<Sample> {
  const port = await freePort();
  const started = performance.now();
  const child = spawn(process.execPath, args, {
    env: { ...env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  try {
    await firstAnswer(port, child);
    const ms = performance.now() - started;
    await sleep(3_000);
    return { ms, megabytes: residentMegabytes(child) };
  } finally {
    await endServer(child);
  }
}

function residentMegabytes(child: ChildProcess): number {
  try {
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
  } catch {
    throw new Error('resident memory is read from /proc, which this system does not have');
  }
}
