import { Button, Group, Progress, Stack, Text } from '@mantine/core';
import { byteSize } from '../../components/byte-size.ts';
import { ErrorState } from '../../components/ErrorState.tsx';
import { FileOutcome } from './FileOutcome.tsx';
import type { FileState } from './use-file-verification.ts';

interface FileResultProps {
  readonly state: Exclude<FileState, { step: 'idle' }>;
  /** Of the file. */
  readonly bytes: number;
  /** The day of the archive; undefined for an export. */
  readonly date?: string | undefined;
  readonly onRetry: () => void;
  readonly onCancel: () => void;
}

/** The verification of a file in this browser: its progress, and its result in words. */
export function FileResult({ state, bytes, date, onRetry, onCancel }: FileResultProps) {
  if (state.step === 'running') return <Running state={state} bytes={bytes} onCancel={onCancel} />;
  if (state.step === 'failed')
    return <ErrorState error={state.error} title="The file could not be read" onRetry={onRetry} />;
  return (
    <div role="status">
      <FileOutcome verdict={state.verdict} date={date} />
    </div>
  );
}

function Running({
  state: { progress, waitsSeconds },
  bytes,
  onCancel,
}: Pick<FileResultProps, 'bytes' | 'onCancel'> & {
  readonly state: Extract<FileState, { step: 'running' }>;
}) {
  const share = progress ? (100 * progress.bytes) / Math.max(bytes, progress.bytes) : 0;
  return (
    <Stack gap={4}>
      <Progress value={share} aria-label="Bytes checked" animated={share === 0} />
      <Group justify="space-between" gap="xs">
        <Text size="xs" c="dimmed" role="status">
          {progress
            ? `${byteSize(progress.bytes)} of ${byteSize(bytes)}, ${progress.events.toLocaleString('en')} events checked`
            : 'Fetching keys and the file…'}
          {waitsSeconds !== undefined && ` – the rate limit is reached, going on in ${waitsSeconds} seconds`}
        </Text>
        <Button variant="default" size="compact-xs" onClick={onCancel}>
          Cancel
        </Button>
      </Group>
    </Stack>
  );
}
