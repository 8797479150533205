import { Button, Stack, Text } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { signIn } from '../../api/session.ts';
import { useSessionState } from '../../app/session-context.tsx';
import { ConfirmButton } from '../../components/ConfirmButton.tsx';
import { ErrorAlert } from '../../components/ErrorAlert.tsx';
import { TenantText } from '../../components/TenantText.tsx';

interface LinkSignInProps {
  readonly code: string;
  /** The link was used, or the person does not want it. */
  readonly onClose: () => void;
}

/**
 * Asks before a one-time link signs in: any page can send a browser to a link of its own agent, also while a key is held down. So the
 * choice that changes nothing has the focus.
 */
export function LinkSignIn({ code, onClose }: LinkSignInProps) {
  const { session, refresh } = useSessionState();
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const decline = useRef<HTMLButtonElement>(null);
  useEffect(() => decline.current?.focus(), []);
  const use = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await signIn({ code });
      await refresh();
      onClose();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return (
    <Stack gap="sm">
      {session && (
        <Text size="sm" component="div">
          You are signed in as <TenantText text={session.person?.name ?? session.agentName} />. The link ends
          this session and signs you in as its own agent.
        </Text>
      )}
      <Text size="sm">
        Use the link only if you asked for it: with <code>npm start</code>, with{' '}
        <code>countersign console</code> or in a program of yours. A link from another source signs you in as
        its agent, which then sees what you enter.
      </Text>
      {error !== undefined && <ErrorAlert error={error} title="Not signed in" />}
      <Button fullWidth variant="default" onClick={onClose} ref={decline} data-autofocus>
        {session ? 'Do not use it' : 'Sign in another way'}
      </Button>
      <ConfirmButton fullWidth loading={busy} onClick={() => void use()}>
        Sign in with this link
      </ConfirmButton>
    </Stack>
  );
}
