/**
 * One EventSource per tab on GET /events. It refreshes the answers that an event makes stale, and passes events to listeners
 * (the live tail). It closes while the tab is hidden or unused, because a browser has only six connections for all tabs of a server.
 */
import type { QueryClient } from '@tanstack/react-query';
import { isActive, onActivity } from './activity.ts';
import { type AuditEvent, eventTypes, type OperationId } from './generated.ts';
import { isBelow } from './queries.ts';
import { isWaiting } from './waiting-queries.ts';

export type StreamStatus = 'off' | 'connecting' | 'live';
type EventListener = (event: AuditEvent) => void;

/** Paths below /api/v1 that events with this first word concern. */
const concerns: Readonly<Record<string, readonly string[]>> = {
  agent: ['/agents', '/overview', '/delegations', '/usage', '/organizations'],
  credential: ['/agents', '/overview'],
  token: ['/overview', '/analytics', '/usage'],
  approval: ['/approvals', '/overview', '/analytics', '/delegations'],
  approval_policy: ['/organizations'],
  authentication: ['/overview'],
  policy: ['/overview'],
  resource: ['/resources', '/agents'],
  grant: ['/resources', '/agents'],
  share: ['/resources', '/shares'],
  organization: ['/organizations', '/tiers'],
  member: ['/organizations'],
  person: ['/organizations'],
  partner: ['/federation'],
  trust_policy: ['/oidc', '/agents'],
  billing: ['/billing', '/tiers'],
  delegation: ['/delegations', '/agents'],
  listing: ['/marketplace'],
  webhook: ['/webhooks', '/overview'],
};

const everyEventConcerns: ReadonlySet<OperationId> = new Set(['listAuditEvents']);

/** Events come in bursts: at most one refresh in this time. */
const refreshMilliseconds = 5_000;
const firstRetryMilliseconds = 2_000;
const longestRetryMilliseconds = 60_000;
/** The browser reconnects by itself. A stream that is not back by then may mean that the server is unavailable. */
const lostMilliseconds = 4_000;

export interface EventFeed {
  /** Opens the stream. */
  start(): void;
  stop(): void;
  /** Calls the listener with each event. Returns a function that ends it. */
  listen(listener: EventListener): () => void;
  /** For useSyncExternalStore. */
  onStatus(listener: () => void): () => void;
  status(): StreamStatus;
}

export function createEventFeed(client: QueryClient, onLost: () => void): EventFeed {
  const listeners = new Set<EventListener>();
  const statusListeners = new Set<() => void>();
  const stale = new Set<string>();
  let source: EventSource | undefined;
  let status: StreamStatus = 'off';
  let started = false;
  let lastEventId = '';
  let wasOpen = false;
  let retryMilliseconds = firstRetryMilliseconds;
  let retryTimer: ReturnType<typeof setTimeout> | undefined;
  let refreshTimer: ReturnType<typeof setTimeout> | undefined;
  let lostTimer: ReturnType<typeof setTimeout> | undefined;

  const setStatus = (next: StreamStatus) => {
    if (status === next) return;
    status = next;
    for (const listener of statusListeners) listener();
  };

  const refresh = () => {
    refreshTimer = undefined;
    const paths = [...stale];
    stale.clear();
    void client.invalidateQueries({
      // A refused request is itself an event: to send it again would never end.
      predicate: (query) => {
        const [id] = query.queryKey as [OperationId];
        return (
          query.state.status === 'success' &&
          !isWaiting(query) &&
          (everyEventConcerns.has(id) || isBelow(id, paths))
        );
      },
    });
  };

  const refreshSoon = (paths: readonly string[]) => {
    for (const path of paths) stale.add(path);
    refreshTimer ??= setTimeout(refresh, refreshMilliseconds);
  };

  const receive = (message: MessageEvent<string>) => {
    lastEventId = message.lastEventId;
    const [subject = ''] = message.type.split('.');
    refreshSoon(concerns[subject] ?? []);
    if (listeners.size === 0) return;
    const event = JSON.parse(message.data) as AuditEvent;
    for (const listener of listeners) listener(event);
  };

  const close = () => {
    clearTimeout(retryTimer);
    clearTimeout(lostTimer);
    lostTimer = undefined;
    source?.close();
    source = undefined;
    setStatus('off');
  };

  const open = () => {
    clearTimeout(retryTimer);
    if (!started || source || !isActive()) return;
    setStatus('connecting');
    const query = lastEventId ? `?lastEventId=${encodeURIComponent(lastEventId)}` : '';
    const opened = new EventSource(`/console/api/v1/events${query}`);
    source = opened;
    opened.onopen = () => {
      retryMilliseconds = firstRetryMilliseconds;
      clearTimeout(lostTimer);
      lostTimer = undefined;
      // Without a position the server does not repeat the events since the last connection, so all answers may be stale.
      if (wasOpen && lastEventId === '') refreshSoon(['']);
      wasOpen = true;
      setStatus('live');
    };
    opened.onerror = () => {
      setStatus('connecting');
      lostTimer ??= setTimeout(onLost, lostMilliseconds);
      // The browser reconnects after a lost connection, but not after a refusal.
      if (opened.readyState !== EventSource.CLOSED) return;
      close();
      // Refused twice in a row: the position may be the reason.
      if (retryMilliseconds > firstRetryMilliseconds) lastEventId = '';
      onLost();
      retryTimer = setTimeout(open, retryMilliseconds);
      retryMilliseconds = Math.min(longestRetryMilliseconds, retryMilliseconds * 2);
    };
    for (const type of eventTypes) opened.addEventListener(type, receive);
  };

  const followActivity = () => (isActive() ? open() : close());
  let endActivity = () => {};

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
      clearTimeout(refreshTimer);
      refreshTimer = undefined;
      stale.clear();
      lastEventId = '';
      wasOpen = false;
      close();
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onStatus(listener) {
      statusListeners.add(listener);
      return () => statusListeners.delete(listener);
    },
    status: () => status,
  };
}
