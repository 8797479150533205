/**
 * The stream of the person's approvals: it tells of new and changed ones at once. A browser has only six connections for all tabs of a
 * server, so of all hidden or unused tabs one keeps its stream, for the number in its title. Such a tab sends no request: it must not keep
 * the session alive.
 */
import { isActive, onActivity } from './activity.ts';
import { type Approval, approvalEventsPath } from './approvals.ts';

const firstRetryMilliseconds = 1_000;
const longestRetryMilliseconds = 60_000;
/** Changes come in bursts: the first counts at once, the others together. */
const refreshMilliseconds = 1_000;
const lockName = 'countersign-approvals';

export interface ApprovalStream {
  start(): void;
  stop(): void;
  /** For useSyncExternalStore: whether changes arrive now. */
  onStatus(listener: () => void): () => void;
  isLive(): boolean;
}

/** A message of the stream. */
export type ApprovalChange = Pick<Approval, 'approvalId' | 'status'>;

interface StreamOptions {
  /** An approval came or changed, or may have while there was no connection. */
  readonly onChange: () => void;
  /** The same while the tab is inactive: nothing may be requested. */
  readonly onHiddenChange: (change: ApprovalChange) => void;
  /** The stream was refused: the session may have ended. */
  readonly onRefusal: () => void;
}

export function createApprovalStream({ onChange, onHiddenChange, onRefusal }: StreamOptions): ApprovalStream {
  const statusListeners = new Set<() => void>();
  let source: EventSource | undefined;
  let started = false;
  let live = false;
  let retryMilliseconds = firstRetryMilliseconds;
  let retryTimer: ReturnType<typeof setTimeout> | undefined;
  let pauseTimer: ReturnType<typeof setTimeout> | undefined;
  let changedInPause = false;
  let endActivity = () => {};
  let releaseLock = () => {};

  const setLive = (next: boolean) => {
    if (live === next) return;
    live = next;
    for (const listener of statusListeners) listener();
  };

  const change = () => {
    if (pauseTimer !== undefined) {
      changedInPause = true;
      return;
    }
    onChange();
    pauseTimer = setTimeout(() => {
      pauseTimer = undefined;
      if (!changedInPause) return;
      changedInPause = false;
      change();
    }, refreshMilliseconds);
  };

  const receive = ({ data }: MessageEvent<string>) =>
    isActive() ? change() : onHiddenChange(JSON.parse(data) as ApprovalChange);

  const close = () => {
    clearTimeout(retryTimer);
    releaseLock();
    source?.close();
    source = undefined;
    setLive(false);
  };

  const open = () => {
    clearTimeout(retryTimer);
    if (!started || source || !isActive()) return;
    const opened = new EventSource(approvalEventsPath);
    source = opened;
    opened.onopen = () => {
      retryMilliseconds = firstRetryMilliseconds;
      // The stream starts with the present: something may have changed since the list was read.
      change();
      setLive(true);
    };
    opened.onerror = () => {
      setLive(false);
      if (!isActive()) return close();
      // The browser reconnects after a lost connection, but not after a refusal.
      if (opened.readyState !== EventSource.CLOSED) return;
      close();
      onRefusal();
      retryTimer = setTimeout(open, retryMilliseconds);
      retryMilliseconds = Math.min(longestRetryMilliseconds, retryMilliseconds * 2);
    };
    opened.addEventListener('approval', receive);
  };

  /** Keeps the stream of this tab, unless another inactive tab keeps its own. Plain http has no locks, besides on this computer. */
  const keepAlone = () => {
    const keeping = new Promise<void>((resolve) => {
      releaseLock = resolve;
    });
    const decide = (lock: unknown) => {
      if (lock) return keeping;
      if (!isActive()) close();
    };
    if (navigator.locks) void navigator.locks.request(lockName, { ifAvailable: true }, decide);
    else close();
  };

  const followActivity = () => {
    if (!isActive()) return source && keepAlone();
    releaseLock();
    if (source) change();
    else open();
  };

  return {
    start() {
      if (started) return;
      started = true;
      endActivity = onActivity(followActivity);
      open();
    },
    stop() {
      started = false;
      endActivity();
      clearTimeout(pauseTimer);
      pauseTimer = undefined;
      changedInPause = false;
      close();
    },
    onStatus(listener) {
      statusListeners.add(listener);
      return () => statusListeners.delete(listener);
    },
    isLive: () => live,
  };
}
