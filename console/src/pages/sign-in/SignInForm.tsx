import { Alert, Button, Divider, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { oidcStart, signIn } from '../../api/session.ts';
import { knownConnection, rememberConnection } from '../../app/known-connection.ts';
import { useProvider, useSessionState } from '../../app/session-context.tsx';
import { placeAfterSignIn } from '../../app/sign-in-address.ts';
import { ErrorAlert } from '../../components/ErrorAlert.tsx';
import { Icon } from '../../components/Icon.tsx';
import { LinkSignIn } from './LinkSignIn.tsx';

/** Client id and secret, a one-time link, or an OpenID provider. */
export function SignInForm() {
  const { ended, hint, refresh, linkCode, dropLinkCode } = useSessionState();
  const [clientId, setClientId] = useState('');
  const [clientSecret, setClientSecret] = useState('');
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const provider = useProvider();
  const [connectionId] = useState(knownConnection);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      await signIn({ clientId: clientId.trim(), clientSecret });
      await refresh();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };

  if (linkCode) return <LinkSignIn code={linkCode} onClose={dropLinkCode} />;
  return (
    <Stack gap="md">
      {hint && error === undefined && (
        <Alert color="yellow" role="status" icon={<Icon name="warning" />} title="You are signed out here">
          {hint}
        </Alert>
      )}
      {error !== undefined && <ErrorAlert error={error} title="Not signed in" />}
      {connectionId !== undefined && (
        <ProviderButton
          href={oidcStart(placeAfterSignIn(), connectionId)}
          onClick={() => rememberConnection(connectionId)}
        >
          Sign in through your organization
        </ProviderButton>
      )}
      {provider && (
        <ProviderButton href={oidcStart(placeAfterSignIn())}>Sign in with {provider.name}</ProviderButton>
      )}
      {(provider || connectionId !== undefined) && (
        <>
          {ended && (
            <Text id="other-tab" size="sm" c="dimmed">
              It opens in a new tab. Come back to this tab afterwards.
            </Text>
          )}
          <Divider label="or with a credential" />
        </>
      )}
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap="sm">
          <TextInput
            label="Client ID"
            name="clientId"
            autoComplete="username"
            spellCheck={false}
            required
            maxLength={255}
            value={clientId}
            onChange={(event) => setClientId(event.currentTarget.value)}
            data-autofocus
          />
          <PasswordInput
            label="Client secret"
            name="clientSecret"
            autoComplete="current-password"
            required
            maxLength={1_024}
            value={clientSecret}
            onChange={(event) => setClientSecret(event.currentTarget.value)}
          />
          <Button type="submit" size="sm" loading={busy} fullWidth>
            Sign in
          </Button>
        </Stack>
      </form>
    </Stack>
  );
}

interface ProviderButtonProps {
  readonly href: string;
  readonly onClick?: () => void;
  readonly children: ReactNode;
}

function ProviderButton(props: ProviderButtonProps) {
  const { ended } = useSessionState();
  return (
    <Button
      component="a"
      size="sm"
      leftSection={<Icon name="account" />}
      // The page behind the dialog stays in this tab.
      {...(ended && {
        target: '_blank',
        rel: 'noopener',
        rightSection: <Icon name="external" size={14} />,
        'aria-describedby': 'other-tab',
      })}
      {...props}
    />
  );
}
