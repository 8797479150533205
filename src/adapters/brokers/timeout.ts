import { setTimeout as sleep } from 'node:timers/promises';

/** How long work in progress may still take once the process is stopping. */
const shutdownTimeoutMs = 2_000;

/** Rejects when the work takes too long, or too long after the process began to stop. The caller must cancel the work itself. */
export async function withTimeout<T>(work: Promise<T>, ms: number, stopping: AbortSignal): Promise<T> {
  const done = new AbortController();
  const { signal } = done;
  const timeout = async () => {
    await sleep(ms, undefined, { signal });
    throw new Error(`no answer within ${ms} ms`);
  };
  const shutdown = async () => {
    await new Promise((resolve) => {
      if (stopping.aborted) resolve(undefined);
      stopping.addEventListener('abort', resolve, { once: true, signal });
    });
    await sleep(shutdownTimeoutMs, undefined, { signal });
    throw new Error('the process is stopping');
  };
  work.catch(() => {});
  try {
    return await Promise.race([work, timeout(), shutdown()]);
  } finally {
    done.abort();
  }
}
