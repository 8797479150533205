import { Alert, Text } from '@mantine/core';
import { toApiError } from '../api/api-error.ts';
import { Icon } from './Icon.tsx';

interface ErrorAlertProps {
  readonly error: unknown;
  readonly title?: string;
  readonly mt?: string;
  /** With a button that closes it. */
  readonly onClose?: () => void;
}

/** A failed action: the API's message and the request id. */
export function ErrorAlert({ error, onClose, ...rest }: ErrorAlertProps) {
  const { message, requestId } = toApiError(error);
  return (
    <Alert
      color="red"
      role="alert"
      icon={<Icon name="warning" />}
      {...(onClose && { onClose, withCloseButton: true, closeButtonLabel: 'Close message' })}
      {...rest}
    >
      {message}
      <RequestId id={requestId} />
    </Alert>
  );
}

/** The id that the server's log has for the request. */
export function RequestId({ id }: { readonly id: string | undefined }) {
  if (!id) return null;
  return (
    <Text size="xs" c="dimmed" mt={4}>
      Request id <code>{id}</code>
    </Text>
  );
}
