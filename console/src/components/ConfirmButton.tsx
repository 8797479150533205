import { Button, type ButtonProps } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';

/** Long enough to see what the dialog asks. A foreign page can choose the moment at which ours comes under the pointer. */
const delayMilliseconds = 1_000;
/** The description of the button for screen readers, and a tooltip for others. */
const notYet = 'Works after this page has been in front for a second';

/** True when the page has been visible, with the focus, for a second. Each return to the page begins anew. */
function useHasBeenSeen(): boolean {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const begin = () => {
      clearTimeout(timer);
      setSeen(false);
      if (document.visibilityState === 'visible' && document.hasFocus())
        timer = setTimeout(() => setSeen(true), delayMilliseconds);
    };
    begin();
    addEventListener('focus', begin);
    addEventListener('blur', begin);
    document.addEventListener('visibilitychange', begin);
    return () => {
      clearTimeout(timer);
      removeEventListener('focus', begin);
      removeEventListener('blur', begin);
      document.removeEventListener('visibilitychange', begin);
    };
  }, []);
  return seen;
}

interface ConfirmButtonProps extends ButtonProps {
  readonly children: ReactNode;
  readonly type?: 'button' | 'submit';
  readonly onClick?: () => void;
  /** For screen readers, when the text alone does not say it. */
  readonly label?: string;
}

/**
 * A button that signs in, or that ends or publishes something. It works when the person has seen the dialog for a second, and not by a
 * key that was held down before. It can have the focus during this time, so it is no disabled button for the browser.
 */
export function ConfirmButton({ onClick, type = 'button', label, ...rest }: ConfirmButtonProps) {
  const seen = useHasBeenSeen();
  return (
    <Button
      {...rest}
      type={type}
      aria-label={label}
      {...(!seen && { 'aria-disabled': true, 'data-disabled': true, title: notYet })}
      onKeyDown={(event) => {
        if (event.repeat) event.preventDefault();
      }}
      onClick={(event) => {
        // Also for a form that is sent by Enter in a field: the browser clicks its button.
        if (!seen) return event.preventDefault();
        onClick?.();
      }}
    />
  );
}
