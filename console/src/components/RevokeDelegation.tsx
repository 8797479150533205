import { List, Text } from '@mantine/core';
import type { DelegationChain } from '../api/generated.ts';
import { useApi } from '../api/queries.ts';
import { AgentName } from './AgentName.tsx';
import { ConfirmDialog } from './ConfirmDialog.tsx';
import { ErrorState } from './ErrorState.tsx';
import type { DialogProps } from './FormDialog.tsx';
import { LoadingState } from './LoadingState.tsx';
import { offlineVerificationNote } from './offline-verification.ts';
import { PartyName } from './PartyName.tsx';

interface RevokeDelegationProps extends DialogProps {
  readonly chainId: string;
  readonly link: Pick<DelegationChain, 'delegatorType' | 'delegatorId' | 'delegateeId'>;
  readonly onDone?: () => void;
}

const shown = 10;

/** Asks once, and says which delegations end with this one. */
export function RevokeDelegation({ chainId, link, opened, onClose, onDone }: RevokeDelegationProps) {
  const below = useApi(
    'listDelegationDescendants',
    { params: { chainId }, query: { limit: shown } },
    { enabled: opened, staleTime: 0 },
  );
  const total = below.data?.total ?? 0;
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title="Revoke this delegation?"
      confirmLabel={total > 0 ? `Revoke ${total + 1} delegations` : 'Revoke delegation'}
      operation="revokeDelegation"
      input={{ params: { chainId } }}
      refreshes={['/delegations']}
      doneMessage="Delegation revoked"
      onDone={onDone}
      ready={below.data !== undefined}
    >
      <Text size="sm">
        From <PartyName type={link.delegatorType} id={link.delegatorId} link={false} /> to{' '}
        <AgentName agentId={link.delegateeId} link={false} />.
      </Text>
      <Text size="sm" my="xs">
        Its access tokens end at once for introspection, and so do those of all that was passed on.{' '}
        {offlineVerificationNote()} This cannot be undone.
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
    </ConfirmDialog>
  );
}
