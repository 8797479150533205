/** Downloads a project for the agent, ready to run. */

import { Button, Radio, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { Agent } from '../../../api/generated.ts';
import { CopyAs } from '../../../components/CopyAs.tsx';
import { Dialog, DialogFooter, type DialogProps } from '../../../components/Dialog.tsx';
import { useDownload } from '../../../components/download.ts';

const languages = {
  typescript: 'TypeScript',
  python: 'Python',
  go: 'Go',
  java: 'Java',
  rust: 'Rust',
} as const;
type Language = keyof typeof languages;

export function DownloadScaffold({ agent, opened, onClose }: DialogProps & { readonly agent: Agent }) {
  const [language, setLanguage] = useState<Language>('typescript');
  const { busy, download } = useDownload();
  const [error, setError] = useState<unknown>();
  const input = { params: { agentId: agent.agentId }, query: { language } };
  const save = async () => {
    setError(undefined);
    try {
      await download('scaffoldAgent', input, `agent-${language}.zip`);
      onClose();
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <Dialog opened={opened} onClose={onClose} title="Download a scaffold">
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
      </Stack>
      <DialogFooter
        error={error}
        errorTitle="The download failed"
        aside={<CopyAs operation="scaffoldAgent" input={input} />}
      >
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button onClick={() => void save()} loading={busy !== undefined}>
          Download
        </Button>
      </DialogFooter>
    </Dialog>
  );
}
