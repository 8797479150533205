import { Button, Text } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import { ConfirmButton } from './ConfirmButton.tsx';
import { Dialog, DialogFooter, type DialogProps } from './Dialog.tsx';
import { showDone } from './notices.tsx';

export interface ConfirmModalProps extends DialogProps {
  /** A question: "Decommission this agent?" */
  readonly title: ReactNode;
  /** What will end, as sentences or a list. A preview of the server can load in here. */
  readonly children: ReactNode;
  /** The button, a verb and what ends: "Decommission agent". */
  readonly confirmLabel: string;
  /** Red by default, for an ending. */
  readonly confirmColor?: string;
  /** The message after success. */
  readonly doneMessage: string;
  readonly onDone?: (() => void) | undefined;
  /** False while the preview loads. */
  readonly ready?: boolean;
}

interface ActionProps {
  /** From `useMutation`: the request of the button. */
  readonly action: {
    readonly error: Error | null;
    readonly isPending: boolean;
    readonly reset: () => void;
  };
  readonly send: () => Promise<unknown>;
  /** Beside the buttons. */
  readonly aside?: ReactNode;
}

/** False until the person has pressed a key or a button on this page. */
const hasActed = (): boolean => navigator.userActivation?.hasBeenActive ?? true;

/**
 * Asks once before something ends. It opens by an action of the person on this page, never by an address: another page can choose the
 * address, and knows where the button would be. It closes when the request succeeds, shows the API's message when it fails, and stays open
 * until then.
 */
export function ConfirmModal(props: ConfirmModalProps & ActionProps) {
  const { opened, onClose, title, children, confirmLabel, action, send, aside, ready = true } = props;
  const { confirmColor = 'red.8' } = props;
  const isRefused = opened && !hasActed();
  useEffect(() => {
    if (isRefused) onClose();
  }, [isRefused, onClose]);
  const close = () => {
    action.reset();
    onClose();
  };
  const cancel = () => {
    if (!action.isPending) close();
  };
  const confirm = async () => {
    try {
      await send();
    } catch {
      return; // The dialog shows action.error.
    }
    showDone(props.doneMessage);
    props.onDone?.();
    close();
  };
  return (
    <Dialog opened={opened && !isRefused} onClose={cancel} title={title}>
      <Text component="div" size="sm">
        {children}
      </Text>
      <DialogFooter error={action.error} aside={aside}>
        <Button variant="default" onClick={cancel} disabled={action.isPending} data-autofocus>
          Cancel
        </Button>
        <ConfirmButton
          color={confirmColor}
          onClick={() => void confirm()}
          loading={action.isPending}
          disabled={!ready}
        >
          {confirmLabel}
        </ConfirmButton>
      </DialogFooter>
    </Dialog>
  );
}
