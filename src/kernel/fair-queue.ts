/**
 * Long work in turns: so much at once, and of each asker one thing at a time, so that whoever asks for a lot waits for itself and
 * the others come in between. What is too much, or would wait too long, is refused.
 */
import { Overloaded } from './gather.ts';

export interface FairQueueOptions {
  /** How many may be at work, each of another asker. */
  readonly atOnce: number;
  /** How many of one asker may wait. */
  readonly waiting: number;
  /** How long one may wait. Behind it nobody is there any more, as a rule. */
  readonly patienceMs?: number;
}

export type FairQueue = <T>(asker: string, work: () => Promise<T>) => Promise<T>;

type Job = () => Promise<void>;

const usualPatienceMs = 60_000;

export function createFairQueue(options: FairQueueOptions): FairQueue {
  const { atOnce, waiting, patienceMs = usualPatienceMs } = options;
  /** Of every asker with something to do, what waits. */
  const queues = new Map<string, Job[]>();
  /** Askers for whom something waits and nothing is at work, who has waited longest first. */
  const ready: string[] = [];
  let working = 0;

  const goOn = () => {
    while (working < atOnce) {
      const asker = ready.shift();
      if (asker === undefined) return;
      working += 1;
      void workFor(asker);
    }
  };

  const workFor = async (asker: string) => {
    const queue = queues.get(asker) ?? [];
    // Nothing is left of those who were tired of waiting.
    await queue.shift()?.();
    working -= 1;
    if (queue.length > 0) ready.push(asker);
    else queues.delete(asker);
    goOn();
  };

  return (asker, work) =>
    new Promise((resolve, reject) => {
      const queue = queues.get(asker) ?? [];
      if (queue.length >= waiting) return reject(new Overloaded());
      const tired = setTimeout(() => {
        queue.splice(queue.indexOf(job), 1);
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
      queue.push(job);
      if (queues.has(asker)) return;
      queues.set(asker, queue);
      ready.push(asker);
      goOn();
    });
}
