/**
 * One EventSource per tab on the approvals of the person: it tells of new and changed ones at once. Like the stream of all events it closes
 * while the tab is hidden or unused, because a browser has only six connections for all tabs of a server.
 */
import { isActive, onActivity } from './activity.ts';
import { approvalEventsPath } from './approvals.ts';

const firstRetryMilliseconds = 1_000;
const longestRetryMilliseconds = 60_000;
/** Changes come in bursts: the first counts at once, the others together. */
const refreshMilliseconds = 1_000;

export interface ApprovalStream {
  start(): void;
  stop(): void;
  /** For useSyncExternalStore: whether changes arrive now. */
  onStatus(listener: () => void): () => void;
  isLive(): boolean;
}

interface StreamOptions {
  /** An approval came or changed, or may have while there was no connection. */
  readonly onChange: () => void;
  /** The stream was refused: the session may have ended. */
  readonly onRefusal: () => void;
}

export function createApprovalStream({ onChange, onRefusal }: StreamOptions): ApprovalStream {
  const statusListeners = new Set<() => void>();
  let source: EventSource | undefined;
  let started = false;
  let live = false;
  let retryMilliseconds = firstRetryMilliseconds;
  let retryTimer: ReturnType<typeof setTimeout> | undefined;
  let pauseTimer: ReturnType<typeof setTimeout> | undefined;
  let changedInPause = false;
  let endActivity = () => {};

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

  const close = () => {
    clearTimeout(retryTimer);
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
      // The browser reconnects after a lost connection, but not after a refusal.
      if (opened.readyState !== EventSource.CLOSED) return;
      close();
      onRefusal();
      retryTimer = setTimeout(open, retryMilliseconds);
      retryMilliseconds = Math.min(longestRetryMilliseconds, retryMilliseconds * 2);
    };
    opened.addEventListener('approval', change);
  };

  const followActivity = () => (isActive() ? open() : close());

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
