import type { Agent, Grant } from '../../../api/generated.ts';
import { useAction } from '../../../api/queries.ts';
import { ConfirmEnding } from '../../../components/ConfirmEnding.tsx';
import { CopyAsCurl } from '../../../components/CopyAsCurl.tsx';
import { showDone } from '../../../components/notices.tsx';
import { offlineNote } from '../../../components/offline-note.ts';
import { TenantText } from '../../../components/TenantText.tsx';
import { ScopeList } from '../agent/ScopeList.tsx';

export function RemoveGrant({
  agent,
  grant,
  opened,
  onClose,
}: {
  readonly agent: Agent;
  readonly grant: Grant | undefined;
  readonly opened: boolean;
  readonly onClose: () => void;
}) {
  const remove = useAction('deleteAgentGrant', { refreshes: ['/agents', '/resources'] });
  const input = { params: { agentId: agent.agentId, resourceId: grant?.resourceId ?? '' } };
  return (
    <ConfirmEnding
      opened={opened}
      onClose={onClose}
      title="Remove this grant?"
      confirmLabel="Remove grant"
      onConfirm={async () => {
        await remove.mutateAsync(input);
        showDone('Grant removed.');
      }}
      extra={<CopyAsCurl operation="deleteAgentGrant" input={input} />}
    >
      The agent gets no more tokens for <TenantText text={grant?.identifier} multiline />. Its tokens for that
      API end at once for introspection, and so does the power of delegations that pass these scopes on.{' '}
      {offlineNote()}
      <div style={{ marginTop: '0.5rem' }}>
        <ScopeList scopes={grant?.scopes ?? []} />
      </div>
    </ConfirmEnding>
  );
}
