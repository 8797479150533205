/** Downloads a project for the agent, ready to run. */
import { Button, Group, Modal, Radio, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { Agent } from '../../../api/generated.ts';
import { callRaw } from '../../../api/request.ts';
import { CopyAsCurl } from '../../../components/CopyAsCurl.tsx';
import { downloadBlob } from '../../../components/download.ts';
import { ErrorState } from '../../../components/ErrorState.tsx';

const languages = {
  typescript: 'TypeScript',
  python: 'Python',
  go: 'Go',
  java: 'Java',
  rust: 'Rust',
} as const;
type Language = keyof typeof languages;

export function DownloadScaffold({
  agent,
  opened,
  onClose,
}: {
  readonly agent: Agent;
  readonly opened: boolean;
  readonly onClose: () => void;
}) {
  const [language, setLanguage] = useState<Language>('typescript');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const input = { params: { agentId: agent.agentId }, query: { language } };
  const download = async () => {
    setBusy(true);
    setError(undefined);
    try {
      const response = await callRaw('scaffoldAgent', input);
      const named = /filename="([\w.-]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1];
      downloadBlob(named ?? `agent-${language}.zip`, await response.blob());
      onClose();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title="Download a scaffold"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack>
        <Text size="sm" c="dimmed">
          A small project that gets tokens as this agent and calls an API with them. It has no secret inside:
          create a credential and put it into its .env file.
        </Text>
        <Radio.Group label="Language" value={language} onChange={(value) => setLanguage(value as Language)}>
          <Stack gap="xs" mt="xs">
            {Object.entries(languages).map(([value, label]) => (
              <Radio key={value} value={value} label={label} />
            ))}
          </Stack>
        </Radio.Group>
        {error !== undefined && <ErrorState error={error} title="The download failed" />}
        <Group justify="flex-end">
          <CopyAsCurl operation="scaffoldAgent" input={input} mr="auto" />
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button onClick={() => void download()} loading={busy}>
            Download
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
