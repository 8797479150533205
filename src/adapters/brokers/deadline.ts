import { setTimeout as sleep } from 'node:timers/promises';

/** How long work that is under way may still take once the process is stopping. */
const lastMomentMs = 2_000;

/** The work, or a failure when it takes too long or too long after the signal. The work itself goes on: its starter must end it. */
export async function withDeadline<T>(work: Promise<T>, ms: number, stopping: AbortSignal): Promise<T> {
  const done = new AbortController();
  const { signal } = done;
  const late = async () => {
    await sleep(ms, undefined, { signal });
    throw new Error(`no answer within ${ms} ms`);
  };
  const cut = async () => {
    await new Promise((resolve) => {
      if (stopping.aborted) resolve(undefined);
      stopping.addEventListener('abort', resolve, { once: true, signal });
    });
    await sleep(lastMomentMs, undefined, { signal });
    throw new Error('the process is stopping');
  };
  work.catch(() => {});
  try {
    return await Promise.race([work, late(), cut()]);
  } finally {
    done.abort();
  }
}
