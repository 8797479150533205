/**
 * The consent page. It has no session of its own: an answer of the server says who is signed in, or that no person is. Everything that a client
 * says about itself is text beside a label of ours.
 */
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useDocumentTitle, useWindowEvent } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type ApiError, toApiError } from '../../api/api-error.ts';
import { fetchQuestion } from '../../api/authorization.ts';
import { signOut } from '../../api/session.ts';
import { CardPage } from '../../app/CardPage.tsx';
import { RequestId } from '../../components/ErrorAlert.tsx';
import { ErrorState } from '../../components/ErrorState.tsx';
import { Icon } from '../../components/Icon.tsx';
import { LoadingState } from '../../components/LoadingState.tsx';
import { isClientAddress } from './addresses.ts';
import { ConsentForm } from './ConsentForm.tsx';
import { isOver, RequestOver } from './RequestOver.tsx';
import { SignIn } from './SignIn.tsx';
import { SwitchPerson } from './SwitchPerson.tsx';

export function AuthorizePage({ requestId }: { readonly requestId: string }) {
  useDocumentTitle('Allow access · Countersign');
  // The person does not want the session of this browser: no sign-in begins by itself.
  const [isSwitching, setSwitching] = useState(false);
  const question = useQuery({
    queryKey: ['authorizationRequest', requestId],
    queryFn: ({ signal }) => fetchQuestion(requestId, signal),
    enabled: !isSwitching,
  });
  // Another tab may have signed in another person.
  useWindowEvent('focus', () => {
    if (!isSwitching) void question.refetch();
  });
  const switchPerson = async () => {
    await signOut();
    setSwitching(true);
  };
  const problem = question.error && toApiError(question.error);
  const content = () => {
    if (isSwitching || problem?.status === 401)
      return <SignIn requestId={requestId} switching={isSwitching} />;
    if (problem && isOver(problem)) return <RequestOver />;
    if (problem?.status === 403) return <Refused problem={problem} onSwitch={switchPerson} />;
    if (question.data)
      return (
        <ConsentForm
          // Another person decides anew.
          key={question.data.person.personId}
          question={question.data}
          onSwitch={switchPerson}
          onSessionEnd={() => void question.refetch()}
        />
      );
    if (problem) return <ErrorState error={problem} onRetry={() => void question.refetch()} />;
    return <LoadingState label="Loading the request" rows={4} />;
  };
  return (
    <CardPage title="Let an application act for you?" wide>
      {content()}
    </CardPage>
  );
}

interface RefusedProps {
  readonly problem: ApiError;
  readonly onSwitch: () => Promise<void>;
}

/** The person may not allow this, or the organization refuses the client. */
function Refused({ problem, onSwitch }: RefusedProps) {
  const { redirectTo } = problem.details;
  const back = typeof redirectTo === 'string' && isClientAddress(redirectTo) ? redirectTo : undefined;
  return (
    <Stack>
      <Alert color="red" role="alert" icon={<Icon name="lock" />} title="You cannot allow this">
        {problem.message}
        <RequestId id={problem.requestId} />
      </Alert>
      <Text size="sm">Nothing was allowed.</Text>
      <Group>
        {back && (
          <Button component="a" href={back} variant="default">
            Return to {new URL(back).hostname}
          </Button>
        )}
        <SwitchPerson onSwitch={onSwitch} />
      </Group>
    </Stack>
  );
}
