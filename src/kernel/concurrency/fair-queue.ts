/**
 * A queue with a share per key: so many jobs run at once, and of each key no more than its share, so that one organization
 * with much to do waits for itself while the others go on. Too many jobs, or too long a wait, is refused.
 */
import { Overloaded } from './batcher.ts';

export interface FairQueueOptions {
  /** How many jobs run at once. */
  readonly atOnce: number;
  /** How many of one asker run at once. */
  readonly each?: number;
  /** How many of one asker may wait. */
  readonly waiting: number;
  /** How long one may wait. Behind it nobody is there any more, as a rule. */
  readonly patienceMs?: number;
}

export type FairQueue = <T>(asker: string, work: () => Promise<T>) => Promise<T>;

type Job = () => Promise<void>;

interface Share {
  readonly waiting: Job[];
  running: number;
}

const usualPatienceMs = 60_000;

export function createFairQueue(options: FairQueueOptions): FairQueue {
  const { atOnce, each = 1, waiting, patienceMs = usualPatienceMs } = options;
  const shares = new Map<string, Share>();
  /** Askers with a job waiting and room in their share, the longest waiting first. */
  const ready = new Set<string>();
  let running = 0;

  const goOn = () => {
    for (const asker of ready) {
      if (running >= atOnce) return;
      ready.delete(asker);
      const share = shares.get(asker);
      // An asker whose jobs were all refused after too long a wait has no share any more.
      if (share && share.waiting.length > 0) void runNext(asker, share);
    }
  };

  /** At the end of the line, behind the other askers; a Set also visits what is added while it is gone through. */
  const lineUp = (asker: string, share: Share) => {
    if (share.waiting.length > 0 && share.running < each) ready.add(asker);
    else if (share.waiting.length === 0 && share.running === 0) shares.delete(asker);
  };

  const runNext = async (asker: string, share: Share) => {
    running += 1;
    share.running += 1;
    const job = share.waiting.shift();
    lineUp(asker, share);
    await job?.();
    running -= 1;
    share.running -= 1;
    lineUp(asker, share);
    goOn();
  };

  return (asker, work) =>
    new Promise((resolve, reject) => {
      const share = shares.get(asker) ?? { waiting: [], running: 0 };
      if (share.waiting.length >= waiting) return reject(new Overloaded());
      const tired = setTimeout(() => {
        share.waiting.splice(share.waiting.indexOf(job), 1);
        lineUp(asker, share);
        reject(new Overloaded());
      }, patienceMs);
      const job = async () => {
        clearTimeout(tired);
        try {
          resolve(await work());
        } catch (error) {
          reject(error);
        }
      };
      share.waiting.push(job);
      shares.set(asker, share);
      lineUp(asker, share);
      goOn();
    });
}
