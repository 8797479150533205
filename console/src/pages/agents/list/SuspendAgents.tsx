import { Alert, List, Stack, Text } from '@mantine/core';
import type { Agent } from '../../../api/generated.ts';
import { useSession } from '../../../app/session-context.tsx';
import { ConfirmModal } from '../../../components/ConfirmModal.tsx';
import { counted } from '../../../components/counted.ts';
import type { DialogProps } from '../../../components/FormDialog.tsx';
import { Icon } from '../../../components/Icon.tsx';
import { offlineVerificationNote } from '../../../components/offline-verification.ts';
import { TenantText } from '../../../components/TenantText.tsx';
import { useChangeEach } from './use-change-each.ts';

interface ManyAgentsProps extends DialogProps {
  readonly agents: readonly Agent[];
  readonly onDone: () => void;
}

const refreshes = ['/agents', '/delegations', '/audit', '/marketplace', '/overview'];

/** Suspends the active ones of the selected agents. */
export function SuspendAgents({ agents, opened, onClose, onDone }: ManyAgentsProps) {
  const action = useChangeEach(agents, refreshes);
  const session = useSession();
  const isOwnAmong = agents.some(({ agentId }) => agentId === session.agentId);
  return (
    <ConfirmModal
      opened={opened}
      onClose={onClose}
      title={`Suspend ${counted(agents.length, 'agents')}?`}
      confirmLabel="Suspend agents"
      doneMessage={`${counted(agents.length, 'agents')} suspended.`}
      onDone={onDone}
      action={action}
      send={() => action.mutateAsync(() => ({ status: 'suspended' }))}
    >
      <Stack gap="xs">
        {isOwnAmong && (
          <Alert
            color="red"
            role="alert"
            icon={<Icon name="warning" />}
            title="You act as one of these agents"
          >
            Your session ends at once, and you cannot reactivate the agent yourself.
          </Alert>
        )}
        <AgentNames agents={agents} />
        <Text size="sm">
          They get no tokens until you reactivate them. Their tokens end at once for introspection, their
          delegations are revoked for good, and their console sessions end. {offlineVerificationNote()}
        </Text>
      </Stack>
    </ConfirmModal>
  );
}

const maxNames = 8;

export function AgentNames({ agents }: { readonly agents: readonly Agent[] }) {
  return (
    <List size="sm" spacing={2} aria-label="Selected agents">
      {agents.slice(0, maxNames).map((agent) => (
        <List.Item key={agent.agentId}>
          <TenantText text={agent.email} />
        </List.Item>
      ))}
      {agents.length > maxNames && <List.Item>and {agents.length - maxNames} more</List.Item>}
    </List>
  );
}
