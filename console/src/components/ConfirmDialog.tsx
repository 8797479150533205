import { Box, Button, Group, Modal, Stack, Text } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import type { OperationId } from '../api/generated.ts';
import { useAction } from '../api/queries.ts';
import type { Input } from '../api/request.ts';
import { ConfirmButton } from './ConfirmButton.tsx';
import { CopyAsCurl } from './CopyAsCurl.tsx';
import { ErrorAlert } from './ErrorAlert.tsx';
import type { DialogProps } from './FormDialog.tsx';
import { showDone } from './notices.tsx';

interface ConfirmDialogProps<Id extends OperationId> extends DialogProps {
  /** A question: "Decommission this agent?" */
  readonly title: ReactNode;
  /** What will end, as sentences or a list. A preview of the server can load in here. */
  readonly children: ReactNode;
  /** The button: "Decommission". */
  readonly confirmLabel: string;
  /** The request of the button. The dialog closes when it succeeds and shows the API's message when it fails. */
  readonly operation: Id;
  readonly input: Input<Id>;
  /** Path prefixes whose data changed, as for `useAction`. */
  readonly refreshes?: readonly string[];
  /** The message after success. */
  readonly doneMessage: string;
  readonly onDone?: (() => void) | undefined;
  /** False while the preview loads. */
  readonly ready?: boolean;
}

/** False until the person has pressed a key or a button on this page. */
const hasActed = (): boolean => navigator.userActivation?.hasBeenActive ?? true;

/**
 * A destructive action: says what will end, and asks once. It opens by an action of the person on this page, never by an address:
 * another page can choose the address, and knows where the button would be.
 */
export function ConfirmDialog<Id extends OperationId>(props: ConfirmDialogProps<Id>) {
  const { opened, onClose, title, children, confirmLabel, operation, input, ready = true } = props;
  const action = useAction(operation, { refreshes: props.refreshes ?? [] });
  const isRefused = opened && !hasActed();
  useEffect(() => {
    if (isRefused) onClose();
  }, [isRefused, onClose]);
  const close = () => {
    action.reset();
    onClose();
  };
  const confirm = async () => {
    try {
      await action.mutateAsync(input);
    } catch {
      return; // The dialog shows action.error.
    }
    showDone(props.doneMessage);
    props.onDone?.();
    close();
  };
  return (
    <Modal opened={opened && !isRefused} onClose={close} title={title}>
      <Stack>
        <Text component="div" size="sm">
          {children}
        </Text>
        {action.error && <ErrorAlert error={action.error} />}
        <Group justify="flex-end">
          <Box mr="auto">
            <CopyAsCurl operation={operation} input={input} />
          </Box>
          <Button variant="default" onClick={close} data-autofocus>
            Cancel
          </Button>
          <ConfirmButton
            color="red.8"
            onClick={() => void confirm()}
            loading={action.isPending}
            disabled={!ready}
          >
            {confirmLabel}
          </ConfirmButton>
        </Group>
      </Stack>
    </Modal>
  );
}
