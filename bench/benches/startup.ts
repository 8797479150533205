/** Wall-clock and CPU time of `serve` from a cold start to its first /health, and its memory when idle. */
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { generateKeyPair } from '../../src/kernel/config/keypair.ts';
import type { BenchContext, Result } from '../support/bench.ts';
import { cpuTimeOf, notMeasured, totalOf } from '../support/cpu-time.ts';
import { type Memory, memoryOf } from '../support/memory.ts';
import { fromEnvironment, median } from '../support/rounds.ts';
import { endServer, firstAnswer, freePort, serve } from '../support/serving.ts';

const rounds = fromEnvironment('BENCH_ROUNDS', 7);
const ceilingMs = 1_500;
const cpuCeilingMs = 700;
const memoryCeiling = 130;
/** The garbage of the start is collected after some seconds. */
const quietMs = 10_000;

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
  await measure(serve, env, 0);

  const ours: Sample[] = [];
  const bare: Sample[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    bare.push(await measure(['-e', bareServer], env, 1_000));
    ours.push(await measure(serve, env, quietMs));
    const { ms = 0, cpuMs = 0 } = ours.at(-1) ?? {};
    log(`round ${round} of ${rounds}: ${Math.round(ms)} ms, ${Math.round(cpuMs)} ms of CPU time`);
  }
  return [
    row('cold start of serve to the first /health (median)', ours, bare, ceilingMs, 'ms', ({ ms }) => ms),
    row(
      'CPU time of serve to the first /health (median)',
      ours,
      bare,
      cpuCeilingMs,
      'ms',
      ({ cpuMs }) => cpuMs,
    ),
    row(
      `resident memory, idle after ${quietMs / 1000} s (median)`,
      ours,
      bare,
      memoryCeiling,
      'MB',
      ({ memory }) => memory?.residentMegabytes,
    ),
  ];
}

function row(
  metric: string,
  ours: readonly Sample[],
  bare: readonly Sample[],
  ceiling: number,
  unit: string,
  value: (sample: Sample) => number | undefined,
): Result {
  const measured = median(ours.flatMap((sample) => value(sample) ?? []));
  return {
    metric,
    result: Number.isNaN(measured) ? notMeasured : `${Math.round(measured)} ${unit}`,
    baseline: `bare node:http server ${Math.round(median(bare.flatMap((sample) => value(sample) ?? [])))} ${unit}`,
    target: `under ${ceiling} ${unit}`,
    met: !(measured >= ceiling),
  };
}

interface Sample {
  readonly ms: number;
  /** Undefined where it is not measured. */
  readonly cpuMs: number | undefined;
  readonly memory: Memory | undefined;
}

async function measure(
  args: string[],
  env: Record<string, string | undefined>,
  quiet: number,
): Promise<Sample> {
  const port = await freePort();
  const started = performance.now();
  const child = spawn(process.execPath, args, {
    env: { ...env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  try {
    await firstAnswer(port, child);
    const ms = performance.now() - started;
    const cpu = cpuTimeOf(child.pid ?? 0);
    await sleep(quiet);
    return { ms, cpuMs: cpu && totalOf(cpu) / 1e6, memory: memoryOf(child.pid ?? 0) };
  } finally {
    await endServer(child);
  }
}
