import { Alert, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { fetchProviderIdentity } from '../../api/session.ts';
import { type ProviderReturn, providerErrors } from '../../app/sign-in-address.ts';
import { CopyButton } from '../../components/CopyButton.tsx';
import { RequestId } from '../../components/ErrorAlert.tsx';
import { Icon } from '../../components/Icon.tsx';
import { TenantText } from '../../components/TenantText.tsx';

/** Why the sign-in at the OpenID provider did not end with a session. */
export function ProviderAnswer({ error, requestId }: ProviderReturn) {
  if (!error) return null;
  return (
    <Alert color="red" role="alert" icon={<Icon name="warning" />} title="Not signed in">
      {providerErrors[error]}
      {error === 'not_invited' && <OwnIdentity />}
      <RequestId id={requestId} />
    </Alert>
  );
}

/** The issuer and subject that an admin needs for an invitation. */
function OwnIdentity() {
  const { data } = useQuery({
    queryKey: ['providerIdentity'],
    queryFn: ({ signal }) => fetchProviderIdentity(signal),
  });
  if (!data) return null;
  const { issuer, subject } = data;
  return (
    <Stack gap="xs" mt="xs" align="flex-start">
      <Text size="sm">Send these to an admin, who can invite you:</Text>
      <Text size="sm" component="div" maw="100%">
        Issuer <TenantText text={issuer} multiline />
        <br />
        Subject <TenantText text={subject} multiline />
      </Text>
      <CopyButton text={`Issuer: ${issuer}\nSubject: ${subject}\n`} label="Copy both" />
    </Stack>
  );
}
