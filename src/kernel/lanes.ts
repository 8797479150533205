/**
 * Long work in turns: so much at once, and of each lane one at a time, so that whoever asks for a lot waits for itself and
 * the others are asked about in between. What is too much even to wait is refused at once.
 */
import { Overloaded } from './gather.ts';

export interface LanesOptions {
  /** How many may be at work, each of another lane. */
  readonly atOnce: number;
  /** How many may wait in one lane. */
  readonly waiting: number;
}

export type Lanes = <T>(lane: string, work: () => Promise<T>) => Promise<T>;

export function createLanes({ atOnce, waiting }: LanesOptions): Lanes {
  /** Of every lane with something to do, what waits in it. */
  const lanes = new Map<string, (() => Promise<void>)[]>();
  /** Lanes in which something waits and nothing is at work, whoever has waited longest first. */
  const ready: string[] = [];
  let working = 0;

  const goOn = () => {
    while (working < atOnce) {
      const lane = ready.shift();
      if (lane === undefined) return;
      working += 1;
      void workIn(lane);
    }
  };

  const workIn = async (lane: string) => {
    const queue = lanes.get(lane) ?? [];
    await queue.shift()?.();
    working -= 1;
    if (queue.length > 0) ready.push(lane);
    else lanes.delete(lane);
    goOn();
  };

  return (lane, work) =>
    new Promise((resolve, reject) => {
      const queue = lanes.get(lane);
      if (queue && queue.length >= waiting) return reject(new Overloaded());
      const job = () => work().then(resolve, reject);
      if (queue) queue.push(job);
      else {
        lanes.set(lane, [job]);
        ready.push(lane);
        goOn();
      }
    });
}
