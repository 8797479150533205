/** Suspend, reactivate and decommission, each with what it ends. */

import { Alert, List, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Agent } from '../../../api/generated.ts';
import { useSession } from '../../../app/session-context.tsx';
import { ConfirmDialog } from '../../../components/ConfirmDialog.tsx';
import type { DialogProps } from '../../../components/FormDialog.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { Icon } from '../../../components/Icon.tsx';
import { DecommissionImpact } from './DecommissionImpact.tsx';

interface AgentDialogProps extends DialogProps {
  readonly agent: Agent;
}

const refreshes = ['/agents', '/delegations', '/audit', '/marketplace'];

export function SuspendAgent({ agent, opened, onClose }: AgentDialogProps) {
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title="Suspend this agent?"
      confirmLabel="Suspend agent"
      operation="updateAgent"
      input={{ params: { agentId: agent.agentId }, body: { status: 'suspended' } }}
      refreshes={refreshes}
      doneMessage="Agent suspended."
    >
      <Stack gap="xs">
        <OwnAgentWarning agentId={agent.agentId}>
          Your session ends at once, and you cannot reactivate the agent yourself. If no other agent or person
          can, the organization has no access left.
        </OwnAgentWarning>
        <Text size="sm">It gets no tokens until you reactivate it. At once:</Text>
        {opened && <DecommissionImpact agentId={agent.agentId} for="suspend" />}
      </Stack>
    </ConfirmDialog>
  );
}

export function DecommissionAgent({ agent, opened, onClose }: AgentDialogProps) {
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title="Decommission this agent for good?"
      confirmLabel="Decommission agent"
      operation="decommissionAgent"
      input={{ params: { agentId: agent.agentId } }}
      refreshes={refreshes}
      doneMessage="Agent decommissioned."
    >
      <Stack gap="xs">
        <OwnAgentWarning agentId={agent.agentId}>
          Your session ends at once. If no other agent or person can sign in, the organization has no access
          left.
        </OwnAgentWarning>
        <Text size="sm">
          This cannot be undone, and its e-mail address stays taken. Its history stays in the audit log. At
          once:
        </Text>
        {opened && <DecommissionImpact agentId={agent.agentId} for="decommission" />}
      </Stack>
    </ConfirmDialog>
  );
}

/** For an operator the organization is the one that runs the instance. */
function OwnAgentWarning({ agentId, children }: { readonly agentId: string; readonly children: ReactNode }) {
  if (useSession().agentId !== agentId) return null;
  return (
    <Alert color="red" role="alert" icon={<Icon name="warning" />} title="You act as this agent">
      {children}
    </Alert>
  );
}

/** Nothing ends, but the agent gets its power back. */
export function ReactivateAgent({ agent, opened, onClose }: AgentDialogProps) {
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title="Reactivate this agent?"
      submitLabel="Reactivate agent"
      confirms
      initialValues={{}}
      operation="updateAgent"
      inputOf={() => ({ params: { agentId: agent.agentId }, body: { status: 'active' as const } })}
      refreshes={refreshes}
      doneMessage="Agent reactivated."
    >
      {() => (
        <List size="sm" spacing={4}>
          <List.Item>
            Its active credentials get tokens again, with the scopes and grants that it holds.
          </List.Item>
          <List.Item>Tokens and delegations that ended with the suspension stay ended.</List.Item>
          <List.Item>You need every scope that the agent may hold.</List.Item>
        </List>
      )}
    </FormDialog>
  );
}
