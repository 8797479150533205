import { Alert } from '@mantine/core';
import { useEffect, useState } from 'react';
import { onRequestEvent } from '../api/request.ts';
import { Icon } from '../components/Icon.tsx';

/** Says that the server does not answer, or that the rate limit makes requests wait. It goes away by itself. */
export function ConnectionNotice() {
  const [isOffline, setOffline] = useState(false);
  const [waitsUntil, setWaitsUntil] = useState(0);
  useEffect(
    () =>
      onRequestEvent((event) => {
        // An answer to another request does not end the wait.
        if (event.type === 'waiting') setWaitsUntil(Date.now() + event.seconds * 1_000);
        else if (event.type !== 'unauthorized') setOffline(event.type === 'offline');
      }),
    [],
  );
  const seconds = useSecondsUntil(waitsUntil);
  if (isOffline)
    return (
      <Alert
        color="red"
        role="alert"
        icon={<Icon name="warning" />}
        title="No connection to the server"
        mb="md"
      >
        The page may be out of date. Nothing you typed is lost; try again when the connection is back.
      </Alert>
    );
  if (seconds === 0) return null;
  return (
    <Alert color="yellow" role="status" icon={<Icon name="clock" />} title="Too many requests" mb="md">
      The rate limit is reached. The console tries again in {seconds} s. You need not reload the page.
    </Alert>
  );
}

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
