import { Modal } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './Dialog.module.css';
import { ErrorAlert } from './ErrorAlert.tsx';

export interface DialogProps {
  readonly opened: boolean;
  readonly onClose: () => void;
}

interface FrameProps extends DialogProps {
  readonly title: ReactNode;
  readonly size?: string;
  readonly children: ReactNode;
  /** For what must be answered: only a button of the dialog closes it. */
  readonly mustAnswer?: boolean;
}

/** The window over a page. Its last child is a `DialogFooter`, beside the content or in a form with it. */
export function Dialog({ mustAnswer = false, children, ...modal }: FrameProps) {
  return (
    <Modal
      {...modal}
      {...(mustAnswer && { withCloseButton: false, closeOnClickOutside: false, closeOnEscape: false })}
      classNames={{ content: classes.content ?? '' }}
    >
      {children}
    </Modal>
  );
}

interface FooterProps {
  /** Buttons: the way out, then the action. */
  readonly children: ReactNode;
  /** On the left: `<CopyAs …>`. */
  readonly aside?: ReactNode;
  /** Why the action failed: in view, however long the dialog is. */
  readonly error?: unknown;
  readonly errorTitle?: string | undefined;
}

/** The buttons of a dialog, which stay in view while its content scrolls. */
export function DialogFooter({ children, aside, error, errorTitle }: FooterProps) {
  return (
    <div className={classes.footer}>
      {error !== undefined && error !== null && (
        <div className={classes.error}>
          <ErrorAlert error={error} {...(errorTitle !== undefined && { title: errorTitle })} />
        </div>
      )}
      {aside && <div className={classes.aside}>{aside}</div>}
      {children}
    </div>
  );
}
