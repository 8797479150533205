/** The question of `countersign login`: whether the command line of this computer may use this session. */
import { Alert, Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { toApiError } from '../../api/api-error.ts';
import { createCommandLineCode } from '../../api/session.ts';
import { usePageSearch } from '../../app/navigation.tsx';
import { SessionRole } from '../../app/SessionRole.tsx';
import { useSession, useSessionState } from '../../app/session-context.tsx';
import { ConfirmButton } from '../../components/ConfirmButton.tsx';
import { EmptyState } from '../../components/EmptyState.tsx';
import { ErrorAlert } from '../../components/ErrorAlert.tsx';
import { exactTime } from '../../components/exact-time.ts';
import { Facts } from '../../components/Facts.tsx';
import { Icon } from '../../components/Icon.tsx';
import { PageTitle } from '../../components/PageTitle.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { answerAddress, waitingCommand } from './answer-address.ts';
import { commandLinePage } from './page.ts';

export function CommandLinePage() {
  const [search] = usePageSearch(commandLinePage);
  const command = waitingCommand(search);
  return (
    <>
      <PageTitle title={commandLinePage.title} />
      {command ? (
        <Question command={command} />
      ) : (
        <EmptyState
          icon="terminal"
          title="No command waits here"
          text="The address is incomplete. Run countersign login again, and use the address that it opens."
        />
      )}
    </>
  );
}

function Question({ command }: { readonly command: NonNullable<ReturnType<typeof waitingCommand>> }) {
  const session = useSession();
  const { person, agentName, agentId, organizationName, expiresAt } = session;
  const { refresh } = useSessionState();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [answered, setAnswered] = useState<string>();
  const cancel = useRef<HTMLButtonElement>(null);
  useEffect(() => cancel.current?.focus(), []);

  const answer = (address: string) => {
    setAnswered(address);
    location.replace(address);
  };
  const allow = async () => {
    setBusy(true);
    setError(undefined);
    try {
      const { code } = await createCommandLineCode(command.challenge);
      answer(answerAddress(command, { code }));
    } catch (failure) {
      setBusy(false);
      setError(failure);
      // The session has ended: the sign-in dialog opens over this page.
      if (toApiError(failure).status === 401) await refresh().catch(() => undefined);
    }
  };

  if (answered !== undefined)
    return (
      <Text size="sm" role="status">
        The answer goes to the command line, which says how it ended.{' '}
        <Anchor href={answered} inherit>
          Send it again
        </Anchor>
      </Text>
    );
  return (
    <Stack gap="md" maw="40rem">
      <Text size="sm">A command on this computer wants to act with the rights of this session.</Text>
      <Facts
        facts={{
          Server: location.origin,
          'Signed in as': <TenantText text={person?.name ?? agentName} />,
          'Acts as agent': person && agentId !== null && <TenantText text={agentName} />,
          Organization: <TenantText text={organizationName} />,
          Role: <SessionRole session={session} />,
          Until: `${exactTime(expiresAt)} at the latest. Signing out here signs it out as well.`,
        }}
      />
      <Alert
        color="yellow"
        icon={<Icon name="warning" />}
        title={`Allow it only if you have just run countersign login for ${location.origin}`}
      >
        Any program on this computer, and any link, could have opened this page. If the command names another
        server, cancel.
      </Alert>
      {error !== undefined && <ErrorAlert error={error} title="The command line was not signed in" />}
      <Group justify="flex-end">
        <Button
          variant="default"
          ref={cancel}
          disabled={busy}
          onClick={() => answer(answerAddress(command, { error: 'access_denied' }))}
        >
          Cancel
        </Button>
        <ConfirmButton loading={busy} onClick={() => void allow()}>
          Sign in the command line
        </ConfirmButton>
      </Group>
    </Stack>
  );
}
