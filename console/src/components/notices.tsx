/** Short messages: a success at the head of the window for a moment, a failure in the page until it is closed. */
import { notifications } from '@mantine/notifications';
import { useSyncExternalStore } from 'react';

const closeButtonProps = { 'aria-label': 'Close message' };

/** Something succeeded: "Agent suspended". It replaces the message before. */
export const showDone = (message: string): void => {
  notifications.clean();
  notifications.show({ message, color: 'seal', autoClose: 5_000, closeButtonProps });
};

let failure: unknown;
const listeners = new Set<() => void>();

/** An action without a dialog failed. The page says so until it is closed, or another page is opened. */
export const showError = (error: unknown): void => {
  failure = error;
  for (const listener of listeners) listener();
};
export const clearError = (): void => showError(undefined);

/** The last failure of `showError`. */
export const useShownError = (): unknown =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => failure,
  );
