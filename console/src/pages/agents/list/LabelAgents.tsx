import { Button, Stack, TagsInput, Text } from '@mantine/core';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import type { Agent } from '../../../api/generated.ts';
import { call } from '../../../api/request.ts';
import { counted } from '../../../components/counted.ts';
import { Dialog, DialogFooter, type DialogProps } from '../../../components/Dialog.tsx';
import { focusFirstProblem } from '../../../components/first-problem.ts';
import { showDone } from '../../../components/notices.tsx';
import { labelProblem, labelsOf, labelTexts, readLabel } from '../form/labels.ts';
import { AgentNames } from './SuspendAgents.tsx';
import { useChangeEach } from './use-change-each.ts';

interface LabelAgentsProps extends DialogProps {
  readonly agents: readonly Agent[];
  readonly onDone: () => void;
}

/** Adds labels to the selected agents, or removes labels that they have. */
export function LabelAgents({ agents, opened, onClose, onDone }: LabelAgentsProps) {
  const [added, setAdded] = useState<string[]>([]);
  const [removed, setRemoved] = useState<string[]>([]);
  const [problem, setProblem] = useState<{ readonly text: string }>();
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (problem && form.current) focusFirstProblem(form.current);
  }, [problem]);
  const action = useChangeEach(agents, ['/agents']);
  const present = [...new Set(agents.flatMap(({ labels }) => labelTexts(labels)))].toSorted();
  const close = () => {
    action.reset();
    onClose();
  };
  const cancel = () => {
    if (!action.isPending) close();
  };
  const changeOf = async ({ agentId }: Agent) => {
    // The change replaces all labels: those of this moment, not those of the list.
    const { labels } = await call('getAgent', { params: { agentId } });
    const left = labelTexts(labels).filter((text) => !removed.includes(text));
    return { labels: labelsOf([...left, ...added]) };
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const wrong =
      labelProblem(added) ??
      (added.length + removed.length === 0 ? 'Enter a label to add, or choose one to remove' : undefined);
    setProblem(wrong === undefined ? undefined : { text: wrong });
    if (wrong) return;
    try {
      await action.mutateAsync(changeOf);
    } catch {
      return; // The dialog shows action.error.
    }
    showDone(`${counted(agents.length, 'agents')} labelled.`);
    close();
    onDone();
  };
  return (
    <Dialog opened={opened} onClose={cancel} title={`Label ${counted(agents.length, 'agents')}`}>
      <form ref={form} onSubmit={(event) => void submit(event)} noValidate>
        <Stack>
          <AgentNames agents={agents} />
          <TagsInput
            label="Labels to add"
            description="Of the form key:value, such as team:talent. A label with the same key is replaced. Press Enter after each."
            data={present.filter((text) => !added.includes(text))}
            splitChars={[',']}
            acceptValueOnBlur
            maxTags={20}
            data-autofocus
            value={added}
            onChange={(texts) => setAdded(texts.map((text) => readLabel(text).filter(Boolean).join(':')))}
            error={problem?.text}
          />
          {present.length > 0 && (
            <TagsInput
              label="Labels to remove"
              description="From all selected agents that have them"
              data={present}
              value={removed}
              onChange={(texts) => setRemoved(texts.filter((text) => present.includes(text)))}
            />
          )}
          <Text size="sm" c="dimmed">
            Labels give no rights, and no token has them.
          </Text>
        </Stack>
        <DialogFooter error={action.error}>
          <Button variant="default" onClick={cancel} disabled={action.isPending}>
            Cancel
          </Button>
          <Button type="submit" loading={action.isPending}>
            Save labels
          </Button>
        </DialogFooter>
      </form>
    </Dialog>
  );
}
