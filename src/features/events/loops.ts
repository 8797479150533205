import type { Loop } from '../../kernel/concurrency/loops.ts';
import type { EventStreams } from './event-streams.ts';

/** In every process, because each one that serves HTTP has streams of its own. Without streams it makes no query. */
export function createPollLoop(streams: EventStreams): Loop {
  let wake = () => {};
  return {
    name: 'events-poll',
    everyMs: 500,
    inEveryProcess: true,
    begin(wakeLoop) {
      wake = wakeLoop;
      return async () => {};
    },
    async run() {
      if (await streams.poll()) wake();
    },
  };
}

/** Ends streams whose token no longer opens them; the others get a heartbeat. */
export const createAccessLoop = (streams: EventStreams): Loop => ({
  name: 'events-access',
  everyMs: 5_000,
  inEveryProcess: true,
  run: streams.checkAccess,
});
