import { Badge, Button, Group, Paper, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import {
  chooseOrganization,
  declineInvitation,
  fetchProviderIdentity,
  type ProviderIdentity,
} from '../../api/session.ts';
import { placeAfterSignIn } from '../../app/sign-in-address.ts';
import { ConfirmButton } from '../../components/ConfirmButton.tsx';
import { ErrorState } from '../../components/ErrorState.tsx';
import { LoadingState } from '../../components/LoadingState.tsx';
import { roleWord } from '../../components/role-words.ts';
import { TenantText, visibleText } from '../../components/TenantText.tsx';

/** For a person who was invited to several organizations, or to one that the person has never used. */
export function OrganizationChoice() {
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const identity = useQuery({
    queryKey: ['providerIdentity'],
    queryFn: ({ signal }) => fetchProviderIdentity(signal),
  });
  const run = async (work: () => Promise<unknown>) => {
    setBusy(true);
    setError(undefined);
    try {
      await work();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const choose = (personId: string) =>
    run(async () => {
      await chooseOrganization(personId);
      location.replace(placeAfterSignIn());
    });
  const decline = (personId: string) =>
    run(async () => {
      await declineInvitation(personId);
      await identity.refetch();
    });
  const beginAgain = () => location.replace('/console');
  const problem = error ?? identity.error;
  const choices = identity.data?.choices ?? [];
  return (
    <Stack gap="sm">
      {identity.data && (
        <Text size="sm">
          {choices.length === 0
            ? 'No invitation is left.'
            : 'Choose an organization. Anyone can give an organization any name: the short name below it is unique.'}
        </Text>
      )}
      {problem !== null && problem !== undefined && (
        <ErrorState error={problem} title="Not signed in" retryLabel="Begin again" onRetry={beginAgain} />
      )}
      {identity.isPending && <LoadingState label="Loading organizations" rows={2} />}
      {choices.map((choice) => (
        <Organization
          key={choice.personId}
          choice={choice}
          busy={busy}
          onChoose={() => void choose(choice.personId)}
          onDecline={() => void decline(choice.personId)}
        />
      ))}
      {identity.data && choices.length === 0 && (
        <Button variant="default" onClick={beginAgain}>
          Back to the sign-in page
        </Button>
      )}
    </Stack>
  );
}

interface OrganizationProps {
  readonly choice: ProviderIdentity['choices'][number];
  readonly busy: boolean;
  readonly onChoose: () => void;
  readonly onDecline: () => void;
}

function Organization({ choice, busy, onChoose, onDecline }: OrganizationProps) {
  const { organizationName, organizationSlug, role, firstVisit } = choice;
  const name = `${visibleText(organizationName)} (${visibleText(organizationSlug)})`;
  return (
    <Paper p="sm" component="section" aria-label={name}>
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Stack gap={0} miw={0}>
          <Text fw={600} component="div">
            <TenantText text={organizationName} />
          </Text>
          <Text size="sm" component="div">
            <code>
              <TenantText text={organizationSlug} />
            </code>
          </Text>
        </Stack>
        <Badge tt="none" color="gray" miw="max-content">
          {roleWord(role)}
        </Badge>
      </Group>
      {firstVisit && (
        <Text size="sm" mt="xs">
          <b>First visit.</b> You have never signed in to this organization. Sign in only if you know it: its
          admins see what you enter.
        </Text>
      )}
      <Group gap="xs" mt="sm">
        <ConfirmButton
          variant={firstVisit ? 'default' : 'filled'}
          disabled={busy}
          onClick={onChoose}
          label={`Sign in to ${name}`}
        >
          Sign in
        </ConfirmButton>
        {firstVisit && (
          <ConfirmButton
            variant="default"
            disabled={busy}
            onClick={onDecline}
            label={`Decline the invitation to ${name}`}
          >
            Decline
          </ConfirmButton>
        )}
      </Group>
    </Paper>
  );
}
