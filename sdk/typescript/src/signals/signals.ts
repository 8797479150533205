/** Revocation by signals: which tokens have ended is known here before they come, and no call waits for the network. */
import type { JWTPayload } from 'jose';
import type { Platform } from '../platform.ts';
import type { VerifiedToken } from '../verify/access-token.ts';
import { readSignals } from './event.ts';
import { startReceiver } from './receiver.ts';
import { createSignalState } from './state.ts';
import type { SignalsClient } from './stream.ts';

export interface SignalsOptions {
  /** A client of this SDK; its agent needs the scope `tokens:read`. */
  readonly client: SignalsClient;
  /**
   * What counts while no signals arrive: `introspect` asks Countersign about each token, `accept` lets tokens count until they expire,
   * `refuse` answers 503. There is no default.
   */
  readonly whenSilent: 'introspect' | 'accept' | 'refuse';
  /** From when on signals count as missing. 60 by default, at least 30: a poll is answered after 25 seconds at most. */
  readonly maxSilenceSeconds?: number;
  /** Called when `state` changes. */
  readonly onStatus?: (status: SignalsStatus) => void;
  /** How many ends are stored. 100,000 by default. Beyond it, tokens from before the oldest one count as if signals were missing. */
  readonly maxEntries?: number;
}

export interface SignalsStatus {
  /** `silent`: signals are missing, and `whenSilent` counts. So it is until all waiting signals were read for the first time. */
  readonly state: 'current' | 'silent';
  /** Since the server last said that nothing more waits. Infinity before the first time. */
  readonly silentSeconds: number;
  /** How many ends are stored. */
  readonly known: number;
  /** When the last signal arrived. */
  readonly lastEventAt: Date | undefined;
  /** Why the last request failed, such as a missing scope. */
  readonly problem: string | undefined;
}

export interface Signals {
  judge(token: VerifiedToken): 'good' | 'ended' | 'silent';
  status(): SignalsStatus;
  /** Resolves with the status when all waiting signals were read, or when `close` is called before. */
  ready(): Promise<SignalsStatus>;
  close(): Promise<void>;
}

interface SignalsDeps {
  readonly issuer: string;
  readonly audience: string;
  /** The claims of a security event token for this audience. Throws if it is not genuine. */
  verify(token: string, audience: string): Promise<JWTPayload>;
  readonly platform: Platform;
}

export const minSilenceSeconds = 30;
/** The longest time of a timer. */
const longestMs = 2 ** 31 - 1;

export function createSignals(options: SignalsOptions, deps: SignalsDeps): Signals {
  const { client, maxSilenceSeconds = 60, maxEntries = 100_000 } = options;
  const { issuer, audience, platform } = deps;
  const { now } = platform;
  const state = createSignalState({ audience, maxEntries, now });
  let lastEventAt: Date | undefined;
  let reported: SignalsStatus['state'] = 'silent';
  let isReady: () => void = () => {};
  const ready = new Promise<void>((resolve) => {
    isReady = resolve;
  });
  /** Current for the first time, or closed. */
  let isSettled = false;
  /** Sockets and timers of the receiver do not keep Node.js running: a program that only waits for `ready` would end in the middle. */
  let keepsRunning: ReturnType<typeof setInterval> | undefined;
  const stopWaiting = () => {
    isSettled = true;
    clearInterval(keepsRunning);
    isReady();
  };

  const status = (): SignalsStatus => {
    const silentSeconds = receiver.silentMs() / 1000;
    return {
      state: silentSeconds <= maxSilenceSeconds ? 'current' : 'silent',
      silentSeconds,
      known: state.size,
      lastEventAt,
      problem: receiver.problem,
    };
  };

  const report = (): SignalsStatus => {
    const current = status();
    if (current.state === 'current') stopWaiting();
    if (current.state !== reported) {
      reported = current.state;
      try {
        options.onStatus?.(current);
      } catch {
        // It is the program's, and must neither refuse a token nor end the poll.
      }
    }
    return current;
  };

  const receiver = startReceiver(
    {
      issuer,
      client,
      platform,
      description: `verifier of ${audience}`.slice(0, 255),
      async handle(id, token, ownAudience) {
        const claims = await deps.verify(token, ownAudience);
        // What is acknowledged must be what was read.
        if (claims.jti !== id) throw new Error('a signal has another id than its token');
        for (const signal of readSignals(claims, issuer)) {
          state.record(signal);
          lastEventAt = new Date(now());
        }
      },
    },
    report,
  );

  return {
    judge(token) {
      const judged = state.judge(token);
      if (judged === 'ended') return judged;
      return report().state === 'current' && judged === 'good' ? 'good' : 'silent';
    },
    status: report,
    ready() {
      if (!isSettled) keepsRunning ??= setInterval(() => {}, longestMs);
      return ready.then(status);
    },
    close() {
      stopWaiting();
      return receiver.close();
    },
  };
}
