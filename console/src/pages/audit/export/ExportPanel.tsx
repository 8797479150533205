import { ActionIcon, Group, Stack, Text, Title } from '@mantine/core';
import { CommandLineSource } from '../../../components/CommandLineSource.tsx';
import { Icon } from '../../../components/Icon.tsx';
import classes from '../Audit.module.css';
import { FileResult } from '../FileResult.tsx';
import type { Exporter } from './use-export.ts';

/** The file that was exported, and whether it is in order. */
export function ExportPanel({ file, state, verifyAgain, clear }: Exporter) {
  if (!file || state.step === 'idle') return null;
  return (
    <section className={classes.panel} aria-label="Export">
      <Group justify="space-between" wrap="nowrap" align="flex-start" gap="xs">
        <Title order={2}>The exported file</Title>
        <ActionIcon aria-label="Close the result of the export" onClick={clear}>
          <Icon name="close" />
        </ActionIcon>
      </Group>
      <Stack gap={4} mb="sm">
        <Text size="sm" c="dimmed">
          Check it anywhere: <code>countersign audit verify {file.name}</code>
        </Text>
        <CommandLineSource />
      </Stack>
      <FileResult state={state} bytes={file.blob.size} onRetry={verifyAgain} onCancel={clear} />
    </section>
  );
}
