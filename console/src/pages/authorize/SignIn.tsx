/** Before the consent: the organization, then the provider through which the person signs in. */
import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useEffect, useState } from 'react';
import { toApiError } from '../../api/api-error.ts';
import { chooseRequestOrganization, fetchSignInChoice, type SignInChoice } from '../../api/authorization.ts';
import { rememberConnection } from '../../app/known-connection.ts';
import { EmptyState } from '../../components/EmptyState.tsx';
import { ErrorAlert } from '../../components/ErrorAlert.tsx';
import { ErrorState } from '../../components/ErrorState.tsx';
import { Icon } from '../../components/Icon.tsx';
import { LoadingState } from '../../components/LoadingState.tsx';
import { TenantText, visibleText } from '../../components/TenantText.tsx';
import { requestSignIn } from './addresses.ts';
import { isOver, RequestOver } from './RequestOver.tsx';

interface SignInProps {
  readonly requestId: string;
  /** As another person. Otherwise the browser takes the way to sign in by itself where there is one only. */
  readonly switching: boolean;
}

export function SignIn({ requestId, switching }: SignInProps) {
  const [chosen, setChosen] = useState<SignInChoice>();
  const loaded = useQuery({
    queryKey: ['requestSignIn', requestId],
    queryFn: ({ signal }) => fetchSignInChoice(requestId, signal),
  });
  const choice = chosen ?? loaded.data;
  const problem = loaded.error && toApiError(loaded.error);
  if (problem && isOver(problem)) return <RequestOver />;
  if (!choice)
    return problem ? (
      <ErrorState error={problem} onRetry={() => void loaded.refetch()} />
    ) : (
      <LoadingState label="Loading the ways to sign in" rows={3} />
    );
  return (
    <Stack>
      <Text size="sm" component="div">
        An application asks for access to <TenantText text={choice.resource.name} />. It calls itself{' '}
        <TenantText text={choice.client.name} />
        {choice.client.host !== null && (
          <>
            {' '}
            and comes from <b>{visibleText(choice.client.host)}</b>
          </>
        )}
        . Sign in to see what it asks for.
      </Text>
      {choice.organizationNeeded ? (
        <OrganizationForm requestId={requestId} onChosen={setChosen} />
      ) : (
        <Options choice={choice} switching={switching} />
      )}
      {choice.organizationNeeded && choice.instance && (
        <SignInButton
          address={requestSignIn(requestId, { switching })}
          label="Sign in with the provider of this instance"
        />
      )}
    </Stack>
  );
}

interface OrganizationFormProps {
  readonly requestId: string;
  readonly onChosen: (choice: SignInChoice) => void;
}

function OrganizationForm({ requestId, onChosen }: OrganizationFormProps) {
  const [slug, setSlug] = useState('');
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      onChosen(await chooseRequestOrganization(requestId, slug.trim().toLowerCase()));
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  if (error !== undefined && isOver(toApiError(error)) && toApiError(error).status !== 400)
    return <RequestOver />;
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack gap="sm">
        <TextInput
          label="Short name of your organization"
          description="Such as acme-corp. Your administrator knows it."
          required
          maxLength={64}
          autoComplete="organization"
          autoCapitalize="none"
          spellCheck={false}
          value={slug}
          onChange={(event) => setSlug(event.currentTarget.value)}
        />
        {error !== undefined && <ErrorAlert error={error} />}
        <Button type="submit" loading={busy} disabled={slug.trim() === ''}>
          Continue
        </Button>
      </Stack>
    </form>
  );
}

interface SignInOption {
  readonly connectionId?: string;
  readonly address: string;
  readonly label: string;
}

const optionsOf = (
  { requestId, connections, instance }: SignInChoice,
  switching: boolean,
): readonly SignInOption[] => [
  ...connections.map(({ connectionId, name }) => ({
    connectionId,
    address: requestSignIn(requestId, { connectionId, switching }),
    label: `Sign in with ${visibleText(name)}`,
  })),
  ...(instance
    ? [
        {
          address: requestSignIn(requestId, { switching }),
          label: 'Sign in with the provider of this instance',
        },
      ]
    : []),
];

interface OptionsProps {
  readonly choice: SignInChoice;
  readonly switching: boolean;
}

function Options({ choice, switching }: OptionsProps) {
  const options = optionsOf(choice, switching);
  const only = options.length === 1 ? options[0] : undefined;
  // Once: a browser that refuses our cookies would otherwise go round in circles.
  const [goes] = useState(() => !switching && only !== undefined && isFirst(choice.requestId));
  useEffect(() => {
    if (!goes || !only) return;
    remember(only);
    location.replace(only.address);
  }, [goes, only]);
  if (options.length === 0)
    return (
      <EmptyState
        icon="lock"
        title="There is no way to sign in here"
        text="This organization has no OpenID provider. Ask its administrator to add a connection."
      />
    );
  return (
    <Stack gap="sm">
      {goes && (
        <Text size="sm" role="status">
          Going to the sign-in…
        </Text>
      )}
      {options.map((option) => (
        <SignInButton key={option.address} {...option} />
      ))}
    </Stack>
  );
}

/** The sign-in page offers it the next time. */
const remember = ({ connectionId }: SignInOption): void => {
  if (connectionId !== undefined) rememberConnection(connectionId);
};

const SignInButton = (option: SignInOption) => (
  <Button
    component="a"
    href={option.address}
    onClick={() => remember(option)}
    variant="default"
    leftSection={<Icon name="account" />}
    maw="100%"
  >
    <Group component="span" gap={4} wrap="nowrap" miw={0}>
      <TenantText text={option.label} />
    </Group>
  </Button>
);

/** Whether this tab has begun no sign-in for the request yet. */
function isFirst(requestId: string): boolean {
  const name = 'countersign-sign-in';
  try {
    const before = sessionStorage.getItem(name);
    sessionStorage.setItem(name, requestId);
    return before !== requestId;
  } catch {
    // A browser without storage asks.
    return false;
  }
}
