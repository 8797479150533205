/** The actions of the selected agents: suspend, label, export. */
import { useState } from 'react';
import type { ListedAgent } from '../../../api/generated.ts';
import { useCan } from '../../../app/session-context.tsx';
import { downloadText } from '../../../components/download.ts';
import { useFrozen } from '../../../components/frozen.ts';
import { IconButton } from '../../../components/IconButton.tsx';
import { agentsCsv } from './agent-rows.ts';
import { LabelAgents } from './LabelAgents.tsx';
import { SuspendAgents } from './SuspendAgents.tsx';

interface SelectedAgentsProps {
  readonly agents: readonly ListedAgent[];
  /** Clears the selection. */
  readonly onDone: () => void;
}

export function SelectedAgents({ agents, onDone }: SelectedAgentsProps) {
  const mayWrite = useCan()('agents:write');
  const [dialog, setDialog] = useState<'suspend' | 'label'>();
  // What was asked about stays, although an event may renew the rows.
  const asked = useFrozen(agents, dialog);
  const active = asked.filter(({ status }) => status === 'active');
  const changeable = asked.filter(({ status }) => status !== 'decommissioned');
  const close = () => setDialog(undefined);
  return (
    <>
      {mayWrite && (
        <>
          <IconButton
            icon="lock"
            size="xs"
            variant="default"
            onClick={() => setDialog('suspend')}
            disabled={active.length === 0}
          >
            Suspend
          </IconButton>
          <IconButton
            icon="edit"
            size="xs"
            variant="default"
            onClick={() => setDialog('label')}
            disabled={changeable.length === 0}
          >
            Label
          </IconButton>
        </>
      )}
      <IconButton
        icon="download"
        size="xs"
        variant="default"
        onClick={() => downloadText('agents.csv', agentsCsv(agents), 'text/csv')}
      >
        Export
      </IconButton>
      <SuspendAgents
        agents={active}
        opened={dialog === 'suspend'}
        onClose={close}
        onDone={onDone}
        key={`suspend ${dialog}`}
      />
      <LabelAgents
        agents={changeable}
        opened={dialog === 'label'}
        onClose={close}
        onDone={onDone}
        key={`label ${dialog}`}
      />
    </>
  );
}
