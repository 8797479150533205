import { Alert, Box, Button, Group, Modal, Stack, Text } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { type ApiError, toApiError } from '../api/api-error.ts';
import { ConfirmButton } from './ConfirmButton.tsx';
import { Icon } from './Icon.tsx';
import { RequestId } from './RequestId.tsx';

export interface ConfirmEndingProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  /** A question: "Decommission this agent?" */
  readonly title: ReactNode;
  /** What will end, as sentences or a list. A preview of the server can load in here. */
  readonly children: ReactNode;
  /** The button: "Decommission". */
  readonly confirmLabel: string;
  /** Sends the request. The dialog closes when it succeeds and shows the API's message when it fails. */
  readonly onConfirm: () => Promise<unknown>;
  /** Usually `<CopyAsCurl …>`. */
  readonly extra?: ReactNode;
  /** False while the preview loads. */
  readonly ready?: boolean;
}

/** False until the person has pressed a key or a button on this page. */
const hasActed = (): boolean => navigator.userActivation?.hasBeenActive ?? true;

/**
 * A destructive action: says what will end, and asks once. It opens by an action of the person on this page, never by an address:
 * another page can choose the address, and knows where the button would be.
 */
export function ConfirmEnding(props: ConfirmEndingProps) {
  const { opened, onClose, title, children, confirmLabel, onConfirm, extra, ready = true } = props;
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const isRefused = opened && !hasActed();
  useEffect(() => {
    if (isRefused) onClose();
  }, [isRefused, onClose]);
  const close = () => {
    setError(undefined);
    onClose();
  };
  const confirm = async () => {
    setBusy(true);
    setError(undefined);
    try {
      await onConfirm();
      close();
    } catch (failure) {
      setError(toApiError(failure));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Modal
      opened={opened && !isRefused}
      onClose={close}
      title={title}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack>
        <Text component="div" size="sm">
          {children}
        </Text>
        {error && (
          <Alert color="red" role="alert" icon={<Icon name="warning" />}>
            {error.message}
            <RequestId id={error.requestId} />
          </Alert>
        )}
        <Group justify="flex-end">
          {extra && <Box mr="auto">{extra}</Box>}
          <Button variant="default" onClick={close} data-autofocus>
            Cancel
          </Button>
          <ConfirmButton color="red.8" onClick={() => void confirm()} loading={busy} disabled={!ready}>
            {confirmLabel}
          </ConfirmButton>
        </Group>
      </Stack>
    </Modal>
  );
}
