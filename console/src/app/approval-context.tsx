/** How many approvals wait for the person of the session: for the navigation, the header and the title of the tab. */
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
import { isActive } from '../api/activity.ts';
import { createApprovalStream } from '../api/approval-stream.ts';
import { countChange, refreshApprovals, useWaitingCount } from '../api/own-approvals.ts';
import { useTitleCount } from './document-title.ts';
import { useSessionState } from './session-context.tsx';

/** While the stream does not work. */
const pollMilliseconds = 30_000;

const WaitingContext = createContext(0);

export function ApprovalProvider({ children }: { readonly children: ReactNode }) {
  const client = useQueryClient();
  const { session, refresh } = useSessionState();
  const latestRefresh = useRef(refresh);
  latestRefresh.current = refresh;
  const stream = useMemo(
    () =>
      createApprovalStream({
        onChange: () => void refreshApprovals(client),
        onHiddenChange: (change) => countChange(client, change),
        onRefusal: () => void latestRefresh.current().catch(() => undefined),
      }),
    [client],
  );
  const isPerson = Boolean(session?.person);
  useEffect(() => {
    if (!isPerson) return;
    stream.start();
    return () => stream.stop();
  }, [stream, isPerson]);
  const isLive = useSyncExternalStore(stream.onStatus, stream.isLive);
  useEffect(() => {
    if (!isPerson || isLive) return;
    const timer = setInterval(() => isActive() && void refreshApprovals(client), pollMilliseconds);
    return () => clearInterval(timer);
  }, [client, isPerson, isLive]);
  const waiting = useWaitingCount(isPerson) ?? 0;
  useTitleCount(waiting);
  return <WaitingContext value={waiting}>{children}</WaitingContext>;
}

/** The number of approvals that wait for the person; 0 for an agent. */
export const useWaiting = (): number => useContext(WaitingContext);
