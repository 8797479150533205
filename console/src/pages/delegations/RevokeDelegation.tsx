import { List, Text } from '@mantine/core';
import type { DelegationChain } from '../../api/generated.ts';
import { useAction, useApi } from '../../api/queries.ts';
import { AgentName } from '../../components/AgentName.tsx';
import { ConfirmEnding } from '../../components/ConfirmEnding.tsx';
import { CopyAsCurl } from '../../components/CopyAsCurl.tsx';
import { ErrorState } from '../../components/ErrorState.tsx';
import { LoadingState } from '../../components/LoadingState.tsx';
import { showDone } from '../../components/notices.tsx';
import { offlineNote } from '../../components/offline-note.ts';
import { useGraphRefresh } from './use-graph.ts';

export interface RevokeDelegationProps {
  readonly chainId: string;
  readonly link: Pick<DelegationChain, 'delegatorId' | 'delegateeId'>;
  readonly opened: boolean;
  readonly onClose: () => void;
}

const shown = 10;

/** Asks once, and says which delegations end with this one. */
export function RevokeDelegation({ chainId, link, opened, onClose }: RevokeDelegationProps) {
  const refreshGraph = useGraphRefresh();
  const below = useApi(
    'listDelegationDescendants',
    { params: { chainId }, query: { limit: shown } },
    { enabled: opened, staleTime: 0 },
  );
  const revoke = useAction('revokeDelegation', {
    refreshes: ['/delegations'],
    onSuccess: () => {
      refreshGraph();
      showDone('Delegation revoked');
    },
  });
  const total = below.data?.total ?? 0;
  return (
    <ConfirmEnding
      opened={opened}
      onClose={onClose}
      title="Revoke this delegation?"
      confirmLabel={total > 0 ? `Revoke ${total + 1} delegations` : 'Revoke'}
      onConfirm={() => revoke.mutateAsync({ params: { chainId } })}
      ready={below.data !== undefined}
      extra={<CopyAsCurl operation="revokeDelegation" input={{ params: { chainId } }} />}
    >
      <Text size="sm">
        From <AgentName agentId={link.delegatorId} link={false} /> to{' '}
        <AgentName agentId={link.delegateeId} link={false} />.
      </Text>
      <Text size="sm" my="xs">
        Its access tokens end at once for introspection, and so do those of all that was passed on.{' '}
        {offlineNote()} This cannot be undone.
      </Text>
      {below.isPending && <LoadingState label="Loading what ends" rows={2} />}
      {below.error && <ErrorState error={below.error} onRetry={() => void below.refetch()} />}
      {below.data &&
        (total === 0 ? (
          <Text size="sm">Nothing was passed on from it.</Text>
        ) : (
          <>
            <Text size="sm" fw={600}>
              {total.toLocaleString('en')} {total === 1 ? 'delegation that was' : 'delegations that were'}{' '}
              passed on {total === 1 ? 'ends' : 'end'} too:
            </Text>
            <List size="sm" aria-label="Delegations that end too" listStyleType="none">
              {below.data.data.map(({ chainId: id, delegatorId, delegateeId, scopes }) => (
                <List.Item key={id}>
                  <AgentName agentId={delegatorId} link={false} /> →{' '}
                  <AgentName agentId={delegateeId} link={false} /> ({scopes.slice(0, 3).join(', ')}
                  {scopes.length > 3 && ', …'})
                </List.Item>
              ))}
              {total > shown && <List.Item>and {(total - shown).toLocaleString('en')} more</List.Item>}
            </List>
          </>
        ))}
    </ConfirmEnding>
  );
}
