/**
 * The open polls of this process. A poll that waits holds no database connection: one query asks for all waiting streams, when a
 * notification comes and twice a second.
 */
import { limits } from '../../contract/limits.ts';
import { fail } from '../../kernel/fail.ts';

export interface OpenPoll {
  /** Resolves when the stream has signals, the time is over, or the poll must end. */
  wait(): Promise<void>;
  /** Nothing more is waited for: the client has gone, the server closes, the time is over, or a newer poll took the place. */
  readonly ended: AbortSignal;
  close(): void;
}

export interface Polls {
  /** RATE_LIMIT_EXCEEDED when too many are open. A newer poll of a stream ends the older one. */
  open(poll: { streamId: string; ended: AbortSignal }): OpenPoll;
  readonly streamIds: () => string[];
  wake(streamIds: readonly string[]): void;
}

interface Waiting {
  readonly replace: () => void;
  wake: () => void;
}

const { openPolls, pollSeconds } = limits.signals;

export function createPolls({
  pause,
}: {
  pause(milliseconds: number, signal: AbortSignal): Promise<void>;
}): Polls {
  const waiting = new Map<string, Waiting>();

  return {
    open({ streamId, ended }) {
      waiting.get(streamId)?.replace();
      waiting.delete(streamId);
      if (waiting.size >= openPolls.max)
        fail('RATE_LIMIT_EXCEEDED', {
          message: 'Too many polls are open: try again later.',
          headers: { 'retry-after': String(openPolls.retryAfterSeconds) },
        });
      const own = new AbortController();
      const end = () => own.abort();
      let isWoken = false;
      const note = () => {
        isWoken = true;
      };
      const poll: Waiting = { replace: end, wake: note };
      own.signal.addEventListener('abort', () => poll.wake(), { once: true });
      if (ended.aborted) end();
      else ended.addEventListener('abort', end, { once: true });
      waiting.set(streamId, poll);
      // Ends with the poll, so no timer is left.
      void pause(pollSeconds * 1_000, own.signal).then(end);
      return {
        ended: own.signal,
        async wait() {
          if (!isWoken && !own.signal.aborted)
            await new Promise<void>((resolve) => {
              poll.wake = resolve;
            });
          isWoken = false;
          poll.wake = note;
        },
        close() {
          ended.removeEventListener('abort', end);
          if (waiting.get(streamId) === poll) waiting.delete(streamId);
          end();
        },
      };
    },
    streamIds: () => [...waiting.keys()],
    wake(streamIds) {
      for (const streamId of streamIds) waiting.get(streamId)?.wake();
    },
  };
}
