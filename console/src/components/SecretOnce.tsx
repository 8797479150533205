import { Alert, Button, Stack, Text } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import { useSessionState } from '../app/session-context.tsx';
import { CopyButton } from './CopyButton.tsx';
import { Dialog, DialogFooter } from './Dialog.tsx';
import { downloadText } from './download.ts';
import { Icon } from './Icon.tsx';
import classes from './SecretOnce.module.css';

interface SecretOnceProps {
  /** Undefined: closed. */
  readonly secret: string | undefined;
  readonly onClose: () => void;
  /** "Client secret", "Signing secret". */
  readonly name: string;
  /** The lines of the .env file, such as `{ CLIENT_ID: …, CLIENT_SECRET: … }`. */
  readonly variables: Readonly<Record<string, string>>;
  /** The name of the downloaded file without `.env`. */
  readonly fileName?: string;
  /** Instead of the hint that the server has only a hash. */
  readonly note?: string;
  /** Below the secret: how to use it. */
  readonly children?: ReactNode;
}

/** Shows a secret once, with ways to keep it. Its button closes it, and the end of the session: the next person may not see it. */
export function SecretOnce({
  secret,
  onClose,
  name,
  variables,
  fileName = 'countersign',
  note = 'The server stores a hash of it. Copy it now, or download it.',
  children,
}: SecretOnceProps) {
  const hasEnded = useSessionState().session === null;
  useEffect(() => {
    if (hasEnded && secret !== undefined) onClose();
  }, [hasEnded, secret, onClose]);
  if (hasEnded) return null;
  const file = Object.entries(variables)
    .map(([variable, value]) => `${variable}=${value}\n`)
    .join('');
  return (
    <Dialog opened={secret !== undefined} onClose={onClose} title={name} size="lg" mustAnswer>
      <Stack>
        <Alert color="yellow" icon={<Icon name="warning" />} title="This is shown only once">
          {note}
        </Alert>
        <Text component="div" size="sm">
          {name}
          <code className={classes.secret} data-testid="secret">
            {secret}
          </code>
        </Text>
        {children}
      </Stack>
      <DialogFooter>
        <CopyButton text={secret ?? ''} label="Copy secret" />
        <Button
          variant="default"
          leftSection={<Icon name="download" size={14} />}
          onClick={() => downloadText(`${fileName}.env`, file)}
        >
          Download .env
        </Button>
        <Button onClick={onClose}>I have stored it</Button>
      </DialogFooter>
    </Dialog>
  );
}
