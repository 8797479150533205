import { Alert, Button, Group } from '@mantine/core';
import { useEffect, useState } from 'react';
import { sessionIdleSeconds } from '../api/generated.ts';
import { timeOfLastAnswer } from '../api/request.ts';
import { Icon } from '../components/Icon.tsx';
import { showError } from '../components/notices.tsx';
import { useSessionState } from './session-context.tsx';

const warnMilliseconds = 120_000;
const checkMilliseconds = 5_000;
const idleMilliseconds = sessionIdleSeconds * 1_000;

type Reason = 'idle' | 'limit';

/** Warns two minutes before the session ends. A request extends an idle session; the limit of eight hours stays. */
export function ExpiryWarning() {
  const { session, refresh } = useSessionState();
  const [reason, setReason] = useState<Reason>();
  const limit = session ? Date.parse(session.expiresAt) : 0;

  useEffect(() => {
    if (!limit) return;
    let asked = false;
    const check = () => {
      const idleEnd = timeOfLastAnswer() + idleMilliseconds;
      const left = Math.min(limit, idleEnd) - Date.now();
      setReason(left > warnMilliseconds ? undefined : limit < idleEnd ? 'limit' : 'idle');
      if (left > 0 || asked) return;
      asked = true;
      void refresh().catch(() => undefined);
    };
    check();
    const timer = setInterval(check, checkMilliseconds);
    return () => clearInterval(timer);
  }, [limit, refresh]);

  if (!reason || !session) return null;
  return (
    <Alert
      color="yellow"
      role="alert"
      icon={<Icon name="clock" />}
      title="Your session is about to end"
      mb="md"
    >
      <Group>
        You will have to sign in again. Nothing you typed is lost.
        {reason === 'idle' && (
          <Button
            variant="default"
            onClick={() => void refresh().then(() => setReason(undefined), showError)}
          >
            Stay signed in
          </Button>
        )}
      </Group>
    </Alert>
  );
}
