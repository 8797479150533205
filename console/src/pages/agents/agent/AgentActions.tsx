import { Button, Group, Menu } from '@mantine/core';
import { useState } from 'react';
import type { Agent } from '../../../api/generated.ts';
import { useCommands } from '../../../app/commands.tsx';
import { useCan } from '../../../app/session-context.tsx';
import { CopyAs } from '../../../components/CopyAs.tsx';
import { Icon, type IconName } from '../../../components/Icon.tsx';
import { IconButton } from '../../../components/IconButton.tsx';
import { EditAgent } from '../form/EditAgent.tsx';
import { DownloadScaffold } from './DownloadScaffold.tsx';
import { PreviewToken } from './PreviewToken.tsx';
import { DecommissionAgent, ReactivateAgent, SuspendAgent } from './StatusActions.tsx';

const dialogs = {
  preview: { label: 'Preview token', icon: 'key' },
  edit: { label: 'Edit agent', icon: 'edit' },
  scaffold: { label: 'Download a scaffold', icon: 'download' },
  reactivate: { label: 'Reactivate agent', icon: 'check' },
  suspend: { label: 'Suspend agent', icon: 'lock' },
  decommission: { label: 'Decommission agent', icon: 'trash' },
} as const satisfies Record<string, { label: string; icon: IconName }>;
type Dialog = keyof typeof dialogs;

/** The actions that make sense for an agent of this status, for this session. */
function actionsFor({ status }: Agent, mayWrite: boolean): readonly Dialog[] {
  const reading: Dialog[] = status === 'decommissioned' ? ['preview'] : ['preview', 'scaffold'];
  if (!mayWrite || status === 'decommissioned') return reading;
  return [...reading, 'edit', status === 'active' ? 'suspend' : 'reactivate', 'decommission'];
}

export function AgentActions({ agent }: { readonly agent: Agent }) {
  const [dialog, setDialog] = useState<Dialog>();
  const actions = actionsFor(agent, useCan()('agents:write'));
  useCommands(
    actions.map((id) => ({
      id: `agent-${id}`,
      label: `${dialogs[id].label}: this agent`,
      run: () => setDialog(id),
    })),
  );
  const of = (id: Dialog) => ({ agent, opened: dialog === id, onClose: () => setDialog(undefined) });
  const inMenu = actions.filter((id) => id !== 'preview' && id !== 'edit');
  return (
    <Group gap="xs">
      <CopyAs operation="getAgent" input={{ params: { agentId: agent.agentId } }} />
      {actions.includes('edit') && (
        <IconButton variant="default" icon="edit" onClick={() => setDialog('edit')}>
          Edit
        </IconButton>
      )}
      <IconButton icon="key" onClick={() => setDialog('preview')}>
        Preview token
      </IconButton>
      {inMenu.length > 0 && (
        <Menu position="bottom-end" withinPortal>
          <Menu.Target>
            <Button variant="default" rightSection={<Icon name="down" size={14} />}>
              More actions
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            {inMenu.map((id) => (
              <Menu.Item
                key={id}
                leftSection={<Icon name={dialogs[id].icon} size={14} />}
                onClick={() => setDialog(id)}
                {...(id === 'decommission' && { c: 'var(--mantine-color-error)' })}
              >
                {dialogs[id].label}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      )}
      <PreviewToken {...of('preview')} />
      <EditAgent {...of('edit')} />
      <DownloadScaffold {...of('scaffold')} />
      <SuspendAgent {...of('suspend')} />
      <ReactivateAgent {...of('reactivate')} />
      <DecommissionAgent {...of('decommission')} />
    </Group>
  );
}
