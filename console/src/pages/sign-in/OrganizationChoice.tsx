import { Button, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { chooseOrganization, fetchProviderIdentity } from '../../api/session.ts';
import { placeAfterSignIn } from '../../app/sign-in-address.ts';
import { ErrorState } from '../../components/ErrorState.tsx';
import { LoadingState } from '../../components/LoadingState.tsx';
import { TenantText } from '../../components/TenantText.tsx';

/** For a person who was invited to several organizations. */
export function OrganizationChoice() {
  const [error, setError] = useState<unknown>();
  const [chosen, setChosen] = useState<string>();
  const identity = useQuery({
    queryKey: ['providerIdentity'],
    queryFn: ({ signal }) => fetchProviderIdentity(signal),
    retry: false,
  });
  const choose = async (personId: string) => {
    setChosen(personId);
    setError(undefined);
    try {
      await chooseOrganization(personId);
      location.replace(placeAfterSignIn());
    } catch (failure) {
      setError(failure);
      setChosen(undefined);
    }
  };
  const beginAgain = () => location.replace('/console');
  const problem = error ?? identity.error;
  return (
    <Stack gap="sm">
      <Text size="sm">You were invited to several organizations. Choose one.</Text>
      {problem !== null && problem !== undefined && (
        <ErrorState error={problem} title="Not signed in" retryLabel="Begin again" onRetry={beginAgain} />
      )}
      {identity.isPending && <LoadingState label="Loading organizations" rows={2} />}
      {identity.data?.choices.map(({ personId, organizationName, role }) => (
        <Button
          key={personId}
          variant="default"
          size="sm"
          loading={chosen === personId}
          onClick={() => void choose(personId)}
        >
          <TenantText text={organizationName} />{' '}
          <Text span c="dimmed" size="xs" ml={6}>
            {role}
          </Text>
        </Button>
      ))}
    </Stack>
  );
}
