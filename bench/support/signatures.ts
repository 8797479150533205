/** RS256 signatures (RSA-2048, PKCS#1 v1.5, SHA-256) per second of all cores together. */
import { createPrivateKey, sign } from 'node:crypto';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { median, type Rate } from './rounds.ts';

/** About the length of the signed part of our tokens. */
const message = Buffer.alloc(600, 'x');

export interface Signatures extends Rate {
  /** CPU time of one signature. */
  readonly microseconds: number;
}

export async function signaturesPerSecond(privatePem: string, seconds: number): Promise<Signatures> {
  const workers = Array.from(
    { length: availableParallelism() },
    () => new Worker(new URL(import.meta.url), { workerData: privatePem }),
  );
  try {
    await Promise.all(workers.map((worker) => once(worker, 'message')));
    const results = await Promise.all(
      workers.map(async (worker) => {
        worker.postMessage(seconds);
        const [result] = await once(worker, 'message');
        return result as Signatures;
      }),
    );
    return {
      perSecond: results.reduce((sum, { perSecond }) => sum + perSecond, 0),
      microseconds: median(results.map(({ microseconds }) => microseconds)),
    };
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

function signFor(milliseconds: number): Signatures {
  const key = createPrivateKey(workerData);
  const from = performance.now();
  const cpuBefore = process.threadCpuUsage();
  let count = 0;
  for (; performance.now() - from < milliseconds; count += 1) sign('sha256', message, key);
  const { user, system } = process.threadCpuUsage(cpuBefore);
  return { perSecond: count / ((performance.now() - from) / 1000), microseconds: (user + system) / count };
}

if (!isMainThread) {
  parentPort?.once('message', (seconds: number) => parentPort?.postMessage(signFor(seconds * 1000)));
  signFor(200);
  parentPort?.postMessage('warm');
}
