import { Button, type ButtonProps } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { Icon } from './Icon.tsx';

interface CopyButtonProps extends ButtonProps {
  /** The text, or a function that makes it when it is needed. */
  readonly text: string | (() => string);
  readonly label: string;
}

/** Copies a text and says so. */
export function CopyButton({ text, label, ...rest }: CopyButtonProps) {
  const clipboard = useClipboard({ timeout: 2_000 });
  return (
    <Button
      variant="default"
      leftSection={<Icon name={clipboard.copied ? 'check' : 'copy'} size={14} />}
      onClick={() => clipboard.copy(typeof text === 'string' ? text : text())}
      {...rest}
    >
      <span aria-live="polite">{clipboard.copied ? 'Copied' : label}</span>
    </Button>
  );
}
