/**
 * Many askers, one errand: what is asked while an errand is under way gathers and goes together with the next. It is how
 * concurrent requests share a round trip or a commit. When the errands cannot keep up, further askers are refused at once
 * instead of waiting in a queue that only grows.
 */
import { DatabaseAway } from '../data/db.ts';

export interface Errand<Item, Answer> {
  /** Answers in the order of the items. A throw refuses them all, unless it concerns one of several: see below. */
  run(items: readonly Item[]): Promise<readonly Answer[]>;
  /** How many go together at the most. */
  readonly atMost: number;
  /** How many errands may be under way at once. */
  readonly atOnce: number;
  /** How many may wait for their turn. */
  readonly waiting: number;
}

/** The errands do not keep up; what was asked has not been done, and may be asked again. */
export class Overloaded extends DatabaseAway {
  constructor() {
    super(new Error('more is asked of it than it can do'));
    this.name = 'Overloaded';
  }
}

interface Asked<Item, Answer> {
  readonly item: Item;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

export function createGatherer<Item, Answer>(errand: Errand<Item, Answer>): (item: Item) => Promise<Answer> {
  const { run, atMost, atOnce, waiting } = errand;
  let queue: Asked<Item, Answer>[] = [];
  let underWay = 0;

  const settle = async (batch: readonly Asked<Item, Answer>[]): Promise<void> => {
    try {
      const answers = await run(batch.map(({ item }) => item));
      if (answers.length !== batch.length)
        throw new Error(`${answers.length} answers to ${batch.length} questions`);
      batch.forEach(({ resolve }, index) => {
        resolve(answers[index] as Answer);
      });
    } catch (error) {
      // One that cannot be served must not take the others with it: each then goes alone.
      if (batch.length > 1 && !(error instanceof DatabaseAway)) {
        for (const asked of batch) await settle([asked]);
        return;
      }
      for (const { reject } of batch) reject(error);
    }
  };

  const work = async () => {
    while (queue.length > 0) {
      const batch = queue.slice(0, atMost);
      queue = queue.slice(atMost);
      await settle(batch);
    }
    underWay -= 1;
  };

  return (item) =>
    new Promise((resolve, reject) => {
      if (queue.length >= waiting) return reject(new Overloaded());
      queue.push({ item, resolve, reject });
      if (underWay >= atOnce) return;
      underWay += 1;
      // Requests that arrived in the same turn of the loop go together from the first errand on.
      setImmediate(work);
    });
}
