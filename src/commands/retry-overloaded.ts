/** For the steps of a start: on a busy machine the first connections to the database can take longer than a request may wait. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Overloaded } from '../kernel/overloaded.ts';

const pauseMs = 500;

/** Repeats a step that found every connection in use. Other errors, such as a database that cannot be reached, end it at once. */
export async function retryOverloaded<T>(step: () => Promise<T>, limitMs = 30_000): Promise<T> {
  for (let waitedMs = 0; ; waitedMs += pauseMs) {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof Overloaded) || waitedMs >= limitMs) throw error;
      await sleep(pauseMs);
    }
  }
}
