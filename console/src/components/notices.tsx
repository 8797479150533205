/** Short messages in the corner. */
import { notifications } from '@mantine/notifications';
import { toApiError } from '../api/api-error.ts';
import { RequestId } from './ErrorAlert.tsx';

const closeButtonProps = { 'aria-label': 'Close message' };

/** Something succeeded: "Agent suspended". */
export const showDone = (message: string): void => {
  notifications.show({ message, color: 'seal', autoClose: 5_000, closeButtonProps });
};

/** An action without a dialog failed. It stays until it is closed. */
export const showError = (error: unknown): void => {
  const { message, requestId } = toApiError(error);
  notifications.show({
    title: 'That did not work',
    message: (
      <>
        {message}
        <RequestId id={requestId} />
      </>
    ),
    color: 'red',
    autoClose: false,
    closeButtonProps,
    role: 'alert',
  });
};
