import type { Agent, Grant } from '../../../api/generated.ts';
import { ConfirmDialog } from '../../../components/ConfirmDialog.tsx';
import type { DialogProps } from '../../../components/FormDialog.tsx';
import { offlineVerificationNote } from '../../../components/offline-verification.ts';
import { ScopeList } from '../../../components/ScopeList.tsx';
import { TenantText } from '../../../components/TenantText.tsx';

interface RemoveGrantProps extends DialogProps {
  readonly agent: Agent;
  readonly grant: Grant | undefined;
}

export function RemoveGrant({ agent, grant, opened, onClose }: RemoveGrantProps) {
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title="Remove this grant?"
      confirmLabel="Remove grant"
      operation="deleteAgentGrant"
      input={{ params: { agentId: agent.agentId, resourceId: grant?.resourceId ?? '' } }}
      refreshes={['/agents', '/resources']}
      doneMessage="Grant removed."
    >
      The agent gets no more tokens for <TenantText text={grant?.identifier} multiline />. Its tokens for that
      API end at once for introspection, and so does the power of delegations that pass these scopes on.{' '}
      {offlineVerificationNote()}
      <div style={{ marginTop: '0.5rem' }}>
        <ScopeList scopes={grant?.scopes ?? []} />
      </div>
    </ConfirmDialog>
  );
}
