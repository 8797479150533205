import { ActionIcon, Group } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { Icon } from './Icon.tsx';

interface ShortHashProps {
  readonly hash: string;
  /** For screen readers: "SHA-256 of 2030-01-31". */
  readonly label: string;
  /** How many digits are shown. All by default. */
  readonly digits?: number;
}

/** The beginning of a hash, and a button that copies all of it. */
export function ShortHash({ hash, label, digits = hash.length }: ShortHashProps) {
  const clipboard = useClipboard({ timeout: 2_000 });
  return (
    <Group gap={4} wrap="nowrap" component="span" display="inline-flex">
      <code title={hash}>{digits < hash.length ? `${hash.slice(0, digits)}…` : hash}</code>
      <ActionIcon size="xs" aria-label={`Copy ${label}`} onClick={() => clipboard.copy(hash)}>
        <Icon name={clipboard.copied ? 'check' : 'copy'} size={12} />
      </ActionIcon>
      <span className="visually-hidden" role="status">
        {clipboard.copied ? 'Copied' : ''}
      </span>
    </Group>
  );
}
