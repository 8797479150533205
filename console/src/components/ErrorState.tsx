import { Alert, Button, Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { toApiError } from '../api/api-error.ts';
import { RequestId } from './ErrorAlert.tsx';
import { Icon } from './Icon.tsx';
import { NoPermission } from './NoPermission.tsx';

interface ErrorStateProps {
  readonly error: unknown;
  readonly title?: string | undefined;
  readonly onRetry?: (() => void) | undefined;
  readonly retryLabel?: string;
  /** Another way out, as a button. */
  readonly help?: ReactNode;
}

/** A failed request: the API's message, the request id, and a way to try again. 403 shows "no permission". */
export function ErrorState({
  error,
  title = 'This could not be loaded',
  onRetry,
  retryLabel = 'Try again',
  help,
}: ErrorStateProps) {
  const problem = toApiError(error);
  if (problem.code === 'INSUFFICIENT_SCOPE' || problem.code === 'FORBIDDEN')
    return <NoPermission text={problem.message} requestId={problem.requestId} />;
  return (
    <Alert color="red" role="alert" icon={<Icon name="warning" />} title={title}>
      {problem.message}
      <RequestId id={problem.requestId} />
      {onRetry && (
        <Group mt="xs" gap="xs">
          {help}
          <Button variant="default" onClick={onRetry}>
            {retryLabel}
          </Button>
        </Group>
      )}
    </Alert>
  );
}
