/** RS256 signatures (RSA-2048, PKCS#1 v1.5, SHA-256) per second of all cores together. */
import { createPrivateKey, sign } from 'node:crypto';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import type { Rate } from './rounds.ts';

/** About the length of the signed part of our tokens. */
const message = Buffer.alloc(600, 'x');

export async function signaturesPerSecond(privatePem: string, seconds: number): Promise<Rate> {
  const workers = Array.from(
    { length: availableParallelism() },
    () => new Worker(new URL(import.meta.url), { workerData: privatePem }),
  );
  try {
    await Promise.all(workers.map((worker) => once(worker, 'message')));
    const rates = workers.map(async (worker) => {
      worker.postMessage(seconds);
      const [rate] = await once(worker, 'message');
      return rate as number;
    });
    return { perSecond: (await Promise.all(rates)).reduce((sum, rate) => sum + rate, 0) };
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

function signFor(milliseconds: number): number {
  const key = createPrivateKey(workerData);
  const from = performance.now();
  let count = 0;
  for (; performance.now() - from < milliseconds; count += 1) sign('sha256', message, key);
  return count / ((performance.now() - from) / 1000);
}

if (!isMainThread) {
  parentPort?.once('message', (seconds: number) => parentPort?.postMessage(signFor(seconds * 1000)));
  signFor(200);
  parentPort?.postMessage('warm');
}
