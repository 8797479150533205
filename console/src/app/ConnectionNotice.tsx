import { Alert, Button } from '@mantine/core';
import { notifyManager, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useCallback, useEffect, useState, useSyncExternalStore } from 'react';
import { onRequestEvent } from '../api/request.ts';
import { outageOf, retryNow } from '../api/waiting-queries.ts';
import { Icon } from '../components/Icon.tsx';
import classes from './ConnectionNotice.module.css';

/** One notice for all requests of the page that the server does not answer, or that wait for the rate limit. It goes away by itself. */
export function ConnectionNotice() {
  const client = useQueryClient();
  const [isOffline, setOffline] = useState(false);
  const [waitsUntil, setWaitsUntil] = useState(0);
  const [retryAt, setRetryAt] = useState(0);
  useEffect(
    () =>
      onRequestEvent((event) => {
        // An answer to another request does not end the wait.
        if (event.type === 'waiting') setWaitsUntil(Date.now() + event.seconds * 1_000);
        else if (event.type === 'retrying') {
          const at = Date.now() + event.milliseconds;
          setRetryAt((before) => (before > Date.now() ? Math.min(before, at) : at));
        } else if (event.type !== 'unauthorized') setOffline(event.type === 'offline');
      }),
    [],
  );
  const subscribe = useCallback(
    (listener: () => void) => client.getQueryCache().subscribe(notifyManager.batchCalls(listener)),
    [client],
  );
  const outage = useSyncExternalStore(subscribe, () => outageOf(client));
  const isAway = isOffline || outage !== undefined;
  const seconds = useSecondsUntil(isAway ? retryAt : waitsUntil);
  if (isAway)
    return (
      <Notice
        icon="warning"
        title={outage === 'busy' ? 'The server cannot answer now' : 'No connection to the server'}
        seconds={seconds}
        action={
          <Button variant="default" onClick={() => retryNow(client)}>
            Try now
          </Button>
        }
      >
        What you see may be out of date; nothing you typed is lost.
      </Notice>
    );
  if (seconds === 0) return null;
  return (
    <Notice icon="clock" title="Too many requests" seconds={seconds}>
      The rate limit is reached. You need not reload the page.
    </Notice>
  );
}

interface NoticeProps {
  readonly icon: 'warning' | 'clock';
  readonly title: string;
  /** Until the console tries again. */
  readonly seconds: number;
  readonly action?: ReactNode;
  readonly children: ReactNode;
}

const Notice = ({ icon, title, seconds, action, children }: NoticeProps) => (
  <div className={classes.notice}>
    <Alert color="yellow" role="status" icon={<Icon name={icon} />} title={title}>
      <div className={classes.line}>
        <div className={classes.text}>
          {children} {/* A screen reader need not count. */}
          <span aria-hidden="true">
            The console tries again {seconds === 0 ? 'now' : `in ${seconds} s`}, and goes on by itself.
          </span>
        </div>
        {action}
      </div>
    </Alert>
  </div>
);

function useSecondsUntil(end: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    setNow(Date.now());
    if (end <= Date.now()) return;
    const timer = setInterval(() => {
      setNow(Date.now());
      if (Date.now() >= end) clearInterval(timer);
    }, 1_000);
    return () => clearInterval(timer);
  }, [end]);
  return Math.max(0, Math.ceil((end - now) / 1_000));
}
