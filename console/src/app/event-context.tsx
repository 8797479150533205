/** The shared event stream, open while someone who may read the audit log is signed in. */
import { useQueryClient } from '@tanstack/react-query';
import {
  createContext,
  type ReactNode,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useSyncExternalStore,
} from 'react';
import { createEventFeed, type EventFeed, type StreamStatus } from '../api/events.ts';
import type { AuditEvent } from '../api/generated.ts';
import { useSessionState } from './session-context.tsx';

const EventContext = createContext<EventFeed | undefined>(undefined);

export function EventProvider({ children }: { readonly children: ReactNode }) {
  const client = useQueryClient();
  const { session, refresh } = useSessionState();
  const latestRefresh = useRef(refresh);
  latestRefresh.current = refresh;
  const feed = useMemo(
    // A refused stream may mean that the session has ended.
    () => createEventFeed(client, () => void latestRefresh.current().catch(() => undefined)),
    [client],
  );
  const mayRead = session?.scopes.includes('audit:read') ?? false;
  useEffect(() => {
    if (!mayRead) return;
    feed.start();
    return () => feed.stop();
  }, [feed, mayRead]);
  return <EventContext value={feed}>{children}</EventContext>;
}

function useFeed(): EventFeed {
  const feed = useContext(EventContext);
  if (!feed) throw new Error('events need EventProvider');
  return feed;
}

/** Whether events arrive now. */
export function useStreamStatus(): StreamStatus {
  const feed = useFeed();
  return useSyncExternalStore(feed.onStatus, feed.status);
}

/** Calls the listener with each event of the organization whose type starts with the prefix ('' for all). */
export function useEvents(prefix: string, listener: (event: AuditEvent) => void): void {
  const feed = useFeed();
  const latest = useRef(listener);
  latest.current = listener;
  useEffect(
    () =>
      feed.listen((event) => {
        if (event.action.startsWith(prefix)) latest.current(event);
      }),
    [feed, prefix],
  );
}
