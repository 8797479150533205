/** How many RSA-2048 signatures (PKCS#1 v1.5, SHA-256: what RS256 is) all cores of this machine make together. */
import { createPrivateKey, sign } from 'node:crypto';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import type { Rated } from './rounds.ts';

/** About what stands before the signature in one of our tokens. */
const message = Buffer.alloc(600, 'x');

export async function signaturesPerSecond(privatePem: string, seconds: number): Promise<Rated> {
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
  let made = 0;
  for (; performance.now() - from < milliseconds; made += 1) sign('sha256', message, key);
  return made / ((performance.now() - from) / 1000);
}

if (!isMainThread) {
  parentPort?.once('message', (seconds: number) => parentPort?.postMessage(signFor(seconds * 1000)));
  signFor(200);
  parentPort?.postMessage('warm');
}
