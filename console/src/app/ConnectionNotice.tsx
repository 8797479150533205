import { Alert } from '@mantine/core';
import { useEffect, useState } from 'react';
import { onRequestEvent } from '../api/request.ts';
import { Icon } from '../components/Icon.tsx';

type Notice = { readonly kind: 'offline' } | { readonly kind: 'waiting'; readonly seconds: number };

/** Says that the server does not answer, or that the rate limit makes a request wait. It goes away by itself. */
export function ConnectionNotice() {
  const [notice, setNotice] = useState<Notice>();
  useEffect(
    () =>
      onRequestEvent((event) => {
        if (event.type === 'offline') setNotice({ kind: 'offline' });
        else if (event.type === 'online') setNotice(undefined);
        else if (event.type === 'waiting') setNotice({ kind: 'waiting', seconds: event.seconds });
      }),
    [],
  );
  if (!notice) return null;
  return notice.kind === 'offline' ? (
    <Alert
      color="red"
      role="alert"
      icon={<Icon name="warning" />}
      title="No connection to the server"
      mb="md"
    >
      The page may be out of date. Nothing you typed is lost; try again when the connection is back.
    </Alert>
  ) : (
    <Alert color="yellow" role="status" icon={<Icon name="clock" />} title="Too many requests" mb="md">
      The rate limit is reached. The console tries again in {notice.seconds} s.
    </Alert>
  );
}
