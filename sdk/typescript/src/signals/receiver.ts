/**
 * Receives the signals of Countersign (SSF 1.0) with one open poll (RFC 8936). A new stream begins with all signals that can still matter,
 * so a process that starts again needs no storage.
 */
import { plainText } from '../plain-text.ts';
import type { Platform } from '../platform.ts';
import { type Stopwatch, startStopwatch } from '../stopwatch.ts';
import {
  createStreams,
  longPollMs,
  pollTimeoutMs,
  type SignalsClient,
  type Stream,
  StreamChanged,
} from './stream.ts';
import { unrefTimer, watchSockets } from './unref.ts';

export interface ReceiverDeps {
  readonly issuer: string;
  readonly client: SignalsClient;
  readonly description: string;
  /** Verifies and records the security event token with this id, of this audience. Throws if it cannot be used. */
  handle(id: string, token: string, audience: string): Promise<void>;
  readonly platform: Pick<Platform, 'now' | 'elapsed' | 'random'>;
}

export interface Receiver {
  /**
   * Since the server last had nothing more to send; a late answer counts from when it was due. Infinity before the first time, and after a
   * stream that left something out.
   */
  silentMs(): number;
  /** Why the last request failed. */
  readonly problem: string | undefined;
  /** Ends the poll and deletes the stream. */
  close(): Promise<void>;
}

/** Others in the organization may change a stream. */
const checkEveryMs = 60_000;
/** A server that closes answers polls at once. */
const shortPollMs = 1_000;
const shortPauseMs = 200;
const longestPauseMs = 5_000;
/** After a refusal that another attempt hardly changes, such as a missing scope. */
const refusedPauseMs = 30_000;

/** `onAttempt` is called after each request, whether it succeeded or not. It must not throw. */
export function startReceiver(deps: ReceiverDeps, onAttempt: () => void): Receiver {
  const { issuer, client, description, handle, platform } = deps;
  const closed = new AbortController();
  const streams = createStreams({ issuer, client, description, closed: closed.signal });
  let stream: Stream | undefined;
  let sinceCurrent: Stopwatch = () => Number.POSITIVE_INFINITY;
  let sinceChecked = startStopwatch(platform);
  let problem: string | undefined;
  /** Of the stream: they go with the next poll. */
  let received: string[] = [];
  /** All that waits in the stream was read, so the next poll may wait. */
  let isComplete = false;

  const create = async (): Promise<Stream> => {
    const made = await streams.create();
    received = [];
    isComplete = false;
    sinceChecked = startStopwatch(platform);
    return made;
  };

  const poll = async (one: Stream, failures: number): Promise<void> => {
    if (sinceChecked() >= checkEveryMs) {
      await streams.check(one);
      sinceChecked = startStopwatch(platform);
    }
    const elapsed = startStopwatch(platform);
    const isLong = isComplete;
    const { sets, hasMore } = await streams.poll(one, { ack: received, isLong, failures });
    // A proxy, or a process that was stopped, may have held the answer back.
    const answerAgeMs = Math.max(0, elapsed() - (isLong ? longPollMs : 0));
    const sinceArrival = startStopwatch(platform);
    received = [];
    const unusable: unknown[] = [];
    for (const [jti, token] of sets) {
      try {
        await handle(jti, token, one.audience);
        received.push(jti);
      } catch (error) {
        // It is not acknowledged, so it comes again.
        unusable.push(error);
      }
    }
    if (unusable.length > 0) throw unusable[0];
    // An answer that has waited here, in a process that was stopped, is old.
    isComplete = !hasMore && elapsed() <= pollTimeoutMs;
    if (isComplete) sinceCurrent = () => answerAgeMs + sinceArrival();
    if ((isLong || hasMore) && sets.length === 0 && elapsed() < shortPollMs) await pause(shortPauseMs);
  };

  const pause = (milliseconds: number): Promise<void> =>
    new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        closed.signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, milliseconds);
      unrefTimer(timer);
      closed.signal.addEventListener('abort', end);
      if (closed.signal.aborted) end();
    });

  const run = async () => {
    for (let failures = 0; !closed.signal.aborted; ) {
      try {
        stream ??= await create();
        if (closed.signal.aborted) break;
        await poll(stream, failures);
        failures = 0;
        problem = undefined;
        onAttempt();
      } catch (error) {
        if (closed.signal.aborted) break;
        isComplete = false;
        failures += 1;
        problem = plainText(error instanceof Error ? error.message : String(error));
        const { status } = (error ?? {}) as { readonly status?: unknown };
        // What came until now may not be all.
        const isMuted = error instanceof StreamChanged;
        const isLost = isMuted || status === 404;
        if (isMuted) sinceCurrent = () => Number.POSITIVE_INFINITY;
        onAttempt();
        const lost = isLost ? stream : undefined;
        if (lost) {
          await streams.remove(lost);
          stream = undefined;
        }
        if (!lost || failures > 1) await pause(pauseOf(error, failures, platform.random()));
      }
    }
    if (stream) await streams.remove(stream);
  };

  const stopWatching = watchSockets(new URL(`${issuer}/api/v1/ssf/poll/`));
  const running = run();

  return {
    silentMs: () => sinceCurrent(),
    get problem() {
      return problem;
    },
    close() {
      closed.abort();
      stopWatching();
      return running;
    },
  };
}

/** At once after the first failure: another node of the server may answer. */
function pauseOf(error: unknown, failures: number, random: number): number {
  const { status } = (error ?? {}) as { readonly status?: unknown };
  if (typeof status === 'number' && status >= 400 && status < 500)
    return Math.min(refusedPauseMs, 1_000 * 2 ** (failures - 1)) * (0.5 + random / 2);
  if (failures === 1) return 0;
  const longest = failures < 10 ? 1_000 : longestPauseMs;
  return Math.min(longest, 100 * 2 ** (failures - 2)) * (0.5 + random / 2);
}
