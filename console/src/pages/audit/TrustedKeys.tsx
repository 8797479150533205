import { Button, Stack, Text, Textarea } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { Dialog, DialogFooter } from '../../components/Dialog.tsx';
import { parseKeys } from './proof/log-keys.ts';
import { saveTrustedKeys, useTrustedKeys } from './trusted-keys.ts';

/** A button that opens the list of keys that the reader trusts. */
export function TrustedKeysButton() {
  const [opened, setOpened] = useState(false);
  const text = useTrustedKeys();
  return (
    <>
      <Button variant="default" size="compact-xs" onClick={() => setOpened(true)}>
        {text.trim() === '' ? 'Use keys that you trust' : 'Keys that you trust'}
      </Button>
      <Dialog opened={opened} onClose={() => setOpened(false)} title="Keys that you trust" size="lg">
        <KeysForm text={text} onDone={() => setOpened(false)} />
      </Dialog>
    </>
  );
}

function KeysForm({ text, onDone }: { readonly text: string; readonly onDone: () => void }) {
  const [typed, setTyped] = useState(text);
  const [problem, setProblem] = useState<string>();
  const save = (event: FormEvent) => {
    event.preventDefault();
    const parsed = parseKeys(typed);
    if (parsed.problem !== undefined) return setProblem(parsed.problem);
    saveTrustedKeys(typed.trim());
    onDone();
  };
  return (
    <form onSubmit={save}>
      <Stack>
        <Text size="sm" c="dimmed">
          Files are then checked with these keys instead of those that this server names. Take each key from
          its owner: a witness prints its own when it starts. This browser keeps the list.
        </Text>
        <Textarea
          label="Verifier keys, one per line"
          description="Of witnesses, and of the log if you have kept it. “quorum 2” says how many witnesses are enough; without it, all are needed."
          placeholder={'witness.example/one+4f1e2a9b+BA…\nwitness.example/two+9c3d0b17+BB…\nquorum 1'}
          value={typed}
          onChange={(event) => {
            setTyped(event.currentTarget.value);
            setProblem(undefined);
          }}
          error={problem}
          minRows={5}
          maxRows={12}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          spellCheck={false}
          data-autofocus
        />
      </Stack>
      <DialogFooter>
        <Button variant="default" onClick={onDone}>
          Cancel
        </Button>
        <Button type="submit">Save keys</Button>
      </DialogFooter>
    </form>
  );
}
