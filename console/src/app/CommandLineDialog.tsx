import { Button, Group, List, Modal, Stack, Text } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { type ApiError, toApiError } from '../api/api-error.ts';
import { type CommandLineCode, createCommandLineCode } from '../api/session.ts';
import { CommandLineSource } from '../components/CommandLineSource.tsx';
import { CopyButton } from '../components/CopyButton.tsx';
import { ErrorAlert } from '../components/ErrorAlert.tsx';
import { exactTime } from '../components/exact-time.ts';
import type { DialogProps } from '../components/FormDialog.tsx';
import { TenantText } from '../components/TenantText.tsx';
import classes from './CommandLineDialog.module.css';
import { useSession, useSessionState } from './session-context.tsx';

const command = `countersign login --url ${location.origin} --code`;

/** A one-time code that signs in the command line with the rights of this session. It is forgotten when the dialog closes. */
export function CommandLineDialog({ opened, onClose }: DialogProps) {
  return (
    <Modal opened={opened} onClose={onClose} title="Sign in to the command line" size="lg">
      <Steps />
    </Modal>
  );
}

/** With the time of this machine: its clock may differ from the server's. */
interface ShownCode extends CommandLineCode {
  readonly shownAt: number;
}

function Steps() {
  const { agentName, person, expiresAt } = useSession();
  const { session, refresh } = useSessionState();
  const [code, setCode] = useState<ShownCode>();
  const [error, setError] = useState<ApiError>();
  const seconds = useSecondsLeft(code);
  // The code goes with the session.
  if (session === null && code) setCode(undefined);
  const busy = useRef(false);

  const make = async () => {
    if (busy.current) return;
    busy.current = true;
    setError(undefined);
    try {
      setCode({ ...(await createCommandLineCode()), shownAt: Date.now() });
    } catch (failure) {
      const problem = toApiError(failure);
      setError(problem);
      // The session has ended: the sign-in dialog opens over this one.
      if (problem.status === 401) await refresh().catch(() => undefined);
    } finally {
      busy.current = false;
    }
  };

  return (
    <Stack>
      <Text size="sm">
        The command line will act as <TenantText text={person?.name ?? agentName} />, with the rights of this
        session, until {exactTime(expiresAt)} at the latest. Signing out here signs it out as well.
      </Text>
      <List type="ordered" spacing="md" size="sm" className={classes.steps ?? ''}>
        <List.Item>
          Run this in a terminal:
          <code className={classes.text}>{command}</code>
          <CopyButton text={command} label="Copy command" size="xs" />
          <CommandLineSource />
        </List.Item>
        <List.Item>
          Paste a code when the command asks for it. A code works once, within two minutes.
          {code && seconds > 0 && (
            <code className={classes.text} data-testid="command-line-code">
              {code.code}
            </code>
          )}
          <Group mt="xs">
            {code && seconds > 0 && <CopyButton text={code.code} label="Copy code" size="xs" />}
            {/* One button for all states: it keeps the focus. */}
            <Button size="xs" variant={code ? 'default' : 'filled'} onClick={() => void make()}>
              {code ? 'Show another code' : 'Show a code'}
            </Button>
            {code && seconds > 0 && (
              <Text size="sm" c="dimmed" role="timer">
                {timeLeft(seconds)} left
              </Text>
            )}
            <Text size="sm" role="status" className={seconds > 0 ? 'visually-hidden' : ''}>
              {code && (seconds > 0 ? 'A code is shown.' : 'The code has expired.')}
            </Text>
          </Group>
        </List.Item>
      </List>
      {error && <ErrorAlert error={error} title="No code was made" />}
    </Stack>
  );
}

const timeLeft = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;

function useSecondsLeft(code: ShownCode | undefined): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!code) return;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [code]);
  // The last tick may be older than the code.
  return code ? Math.max(0, code.expiresIn - Math.max(0, Math.floor((now - code.shownAt) / 1_000))) : 0;
}
