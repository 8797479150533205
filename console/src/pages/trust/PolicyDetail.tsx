import { Button, Group, Stack } from '@mantine/core';
import { useState } from 'react';
import type { TrustPolicy } from '../../api/generated.ts';
import { useAction, useApi } from '../../api/queries.ts';
import { useCan } from '../../app/session-context.tsx';
import { AgentName } from '../../components/AgentName.tsx';
import { ConditionList } from '../../components/ConditionList.tsx';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import { exactTime } from '../../components/exact-time.ts';
import { Facts } from '../../components/Facts.tsx';
import { useFrozen } from '../../components/frozen.ts';
import { IconButton } from '../../components/IconButton.tsx';
import { showDone, showError } from '../../components/notices.tsx';
import { QueryState } from '../../components/QueryState.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import { TenantText, visibleText } from '../../components/TenantText.tsx';
import { PolicyDialog } from './PolicyDialog.tsx';
import { presets } from './presets.ts';
import { TestToken } from './TestToken.tsx';

interface PolicyDetailProps {
  readonly policyId: string;
  readonly onGone: () => void;
}

/** A trust policy, with a test of a token. */
export function PolicyDetail({ policyId, onGone }: PolicyDetailProps) {
  const query = useApi('getTrustPolicy', { params: { policyId } });
  return (
    <QueryState
      query={query}
      label="Loading the trust policy"
      errorTitle="This trust policy could not be loaded"
    >
      {(policy) => (
        <Stack gap="sm">
          <PolicyFacts policy={policy} />
          <Actions policy={policy} onGone={onGone} />
          <TestToken key={policyId} policyId={policyId} />
        </Stack>
      )}
    </QueryState>
  );
}

function PolicyFacts({ policy }: { readonly policy: TrustPolicy }) {
  const { provider, conditions, scopes, resources, jwksUri } = policy;
  return (
    <Facts
      facts={{
        Status: <StatusBadge status={policy.status} />,
        'Becomes agent': <AgentName agentId={policy.agentId} />,
        Provider: presets[provider].label,
        Issuer: <TenantText text={policy.issuer} multiline />,
        Keys: jwksUri !== null && <TenantText text={jwksUri} multiline />,
        Audiences: <TenantText text={policy.audiences.join(', ')} multiline />,
        Subject: <TenantText text={policy.subject ?? 'any; the conditions decide'} multiline />,
        Conditions: <ConditionList conditions={conditions} />,
        Scopes: scopes.length > 0 ? <code>{scopes.join(' ')}</code> : 'none of the Countersign API',
        APIs: resources.length > 0 && (
          <ul>
            {resources.map(({ identifier, scopes: of }) => (
              <li key={identifier}>
                <TenantText text={identifier} multiline />: <code>{visibleText(of.join(' '))}</code>
              </li>
            ))}
          </ul>
        ),
        Role: policy.actsAsAdmin ? 'acts as admin, if the agent has the role admin' : 'does not act as admin',
        'Token age': `at most ${policy.maxTokenAgeSeconds.toLocaleString('en')} seconds`,
        'Single use': policy.singleUse ? 'each token once' : 'a token may be used again',
        'Last used': <RelativeTime time={policy.lastUsedAt} />,
        Changed: <time dateTime={policy.updatedAt}>{exactTime(policy.updatedAt)}</time>,
        'Policy id': <code>{policy.policyId}</code>,
      }}
    />
  );
}

interface ActionsProps {
  readonly policy: TrustPolicy;
  readonly onGone: () => void;
}

function Actions({ policy, onGone }: ActionsProps) {
  const can = useCan();
  const { policyId, status } = policy;
  const [dialog, setDialog] = useState<'edit' | 'disable' | 'delete'>();
  const close = () => setDialog(undefined);
  const edited = useFrozen(policy, dialog);
  const change = useAction('updateTrustPolicy', { refreshes: ['/oidc'] });
  const isActive = status === 'active';
  const enabling = { params: { policyId }, body: { status: 'active' } } as const;
  const enable = () => change.mutateAsync(enabling).then(() => showDone('Trust policy enabled'), showError);
  return (
    <Group gap="xs">
      {can('agents:write') && (
        <>
          <IconButton variant="default" icon="edit" onClick={() => setDialog('edit')}>
            Edit
          </IconButton>
          <Button
            variant="default"
            loading={change.isPending}
            onClick={() => (isActive ? setDialog('disable') : void enable())}
          >
            {isActive ? 'Disable' : 'Enable'}
          </Button>
          {!isActive && <CopyAs operation="updateTrustPolicy" input={enabling} label="enabling" />}
          <IconButton variant="default" icon="trash" onClick={() => setDialog('delete')}>
            Delete
          </IconButton>
        </>
      )}
      <CopyAs operation="getTrustPolicy" input={{ params: { policyId } }} />
      <PolicyDialog
        key={`${policyId} ${edited.updatedAt}`}
        policy={edited}
        opened={dialog === 'edit'}
        onClose={close}
        onDone={close}
      />
      <ConfirmDialog
        opened={dialog === 'disable'}
        onClose={close}
        title="Disable this trust policy?"
        confirmLabel="Disable policy"
        operation="updateTrustPolicy"
        input={{ params: { policyId }, body: { status: 'disabled' } }}
        refreshes={['/oidc']}
        doneMessage="Trust policy disabled"
      >
        Workloads that match <TenantText text={policy.name} /> get no more tokens of{' '}
        <AgentName agentId={policy.agentId} link={false} /> until you enable it again. Tokens that they
        already have live until they expire.
      </ConfirmDialog>
      <ConfirmDialog
        opened={dialog === 'delete'}
        onClose={close}
        title="Delete this trust policy?"
        confirmLabel="Delete policy"
        operation="deleteTrustPolicy"
        input={{ params: { policyId } }}
        refreshes={['/oidc']}
        doneMessage="Trust policy deleted"
        onDone={onGone}
      >
        Workloads that match <TenantText text={policy.name} /> get no more tokens of{' '}
        <AgentName agentId={policy.agentId} link={false} />, from now on. Tokens that they already have live
        until they expire. To stop it for a while, disable the policy instead.
      </ConfirmDialog>
    </Group>
  );
}
