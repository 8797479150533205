import { Button, Group, Stack } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { TrustCondition, TrustPolicy } from '../../api/generated.ts';
import { useAction, useApi } from '../../api/queries.ts';
import { useCan } from '../../app/session-context.tsx';
import { AgentName } from '../../components/AgentName.tsx';
import { ConfirmEnding } from '../../components/ConfirmEnding.tsx';
import { CopyAsCurl } from '../../components/CopyAsCurl.tsx';
import { ErrorState } from '../../components/ErrorState.tsx';
import { useFrozen } from '../../components/frozen.ts';
import { Icon } from '../../components/Icon.tsx';
import { LoadingState } from '../../components/LoadingState.tsx';
import { showDone, showError } from '../../components/notices.tsx';
import { exactTime, RelativeTime } from '../../components/RelativeTime.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import { TenantText, visibleText } from '../../components/TenantText.tsx';
import { PolicyDialog } from './PolicyDialog.tsx';
import { operatorLabels, presets } from './presets.ts';
import { TestToken } from './TestToken.tsx';
import classes from './Trust.module.css';

export interface PolicyDetailProps {
  readonly policyId: string;
  readonly onGone: () => void;
}

/** A trust policy, with a test of a token. */
export function PolicyDetail({ policyId, onGone }: PolicyDetailProps) {
  const { data, error, isPending, refetch } = useApi('getTrustPolicy', { params: { policyId } });
  if (isPending) return <LoadingState label="Loading the trust policy" />;
  if (!data)
    return (
      <ErrorState
        error={error}
        title="This trust policy could not be loaded"
        onRetry={() => void refetch()}
      />
    );
  return (
    <Stack gap="sm">
      <Facts policy={data} />
      <Actions policy={data} onGone={onGone} />
      <TestToken key={policyId} policyId={policyId} />
    </Stack>
  );
}

function Facts({ policy }: { readonly policy: TrustPolicy }) {
  const { provider, conditions, scopes, resources, jwksUri } = policy;
  return (
    <dl className={classes.facts}>
      <Fact name="Status">
        <StatusBadge status={policy.status} />
      </Fact>
      <Fact name="Becomes agent">
        <AgentName agentId={policy.agentId} />
      </Fact>
      <Fact name="Provider">{presets[provider].label}</Fact>
      <Fact name="Issuer">
        <TenantText text={policy.issuer} multiline />
      </Fact>
      {jwksUri !== null && (
        <Fact name="Keys">
          <TenantText text={jwksUri} multiline />
        </Fact>
      )}
      <Fact name="Audiences">
        <TenantText text={policy.audiences.join(', ')} multiline />
      </Fact>
      <Fact name="Subject">
        <TenantText text={policy.subject ?? 'any; the conditions decide'} multiline />
      </Fact>
      <Fact name="Conditions">
        {conditions.length === 0 ? (
          'none'
        ) : (
          <ul>
            {conditions.map((condition, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: conditions have no id and do not move
              <li key={index}>{conditionText(condition)}</li>
            ))}
          </ul>
        )}
      </Fact>
      <Fact name="Scopes">
        {scopes.length > 0 ? <code>{scopes.join(' ')}</code> : 'none of the Countersign API'}
      </Fact>
      {resources.length > 0 && (
        <Fact name="APIs">
          <ul>
            {resources.map(({ identifier, scopes: of }) => (
              <li key={identifier}>
                <TenantText text={identifier} multiline />: <code>{visibleText(of.join(' '))}</code>
              </li>
            ))}
          </ul>
        </Fact>
      )}
      <Fact name="Role">
        {policy.actsAsAdmin ? 'acts as admin, if the agent has the role admin' : 'does not act as admin'}
      </Fact>
      <Fact name="Token age">at most {policy.maxTokenAgeSeconds.toLocaleString('en')} seconds</Fact>
      <Fact name="Single use">{policy.singleUse ? 'each token once' : 'a token may be used again'}</Fact>
      <Fact name="Last used">
        <RelativeTime time={policy.lastUsedAt} />
      </Fact>
      <Fact name="Changed">
        <time dateTime={policy.updatedAt}>{exactTime(policy.updatedAt)}</time>
      </Fact>
      <Fact name="Policy id">
        <code>{policy.policyId}</code>
      </Fact>
    </dl>
  );
}

const Fact = ({ name, children }: { readonly name: string; readonly children: ReactNode }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

const conditionText = ({ claim, operator, values = [] }: TrustCondition): string =>
  visibleText([claim, operatorLabels[operator], values.join(', ')].filter(Boolean).join(' '));

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
  const remove = useAction('deleteTrustPolicy', { refreshes: ['/oidc'] });
  const isActive = status === 'active';
  const disabling = { params: { policyId }, body: { status: 'disabled' } } as const;
  const enabling = { params: { policyId }, body: { status: 'active' } } as const;
  const enable = () => change.mutateAsync(enabling).then(() => showDone('Trust policy enabled'), showError);
  return (
    <Group gap="xs">
      {can('agents:write') && (
        <>
          <Button
            variant="default"
            leftSection={<Icon name="edit" size={14} />}
            onClick={() => setDialog('edit')}
          >
            Edit
          </Button>
          <Button
            variant="default"
            loading={change.isPending}
            onClick={() => (isActive ? setDialog('disable') : void enable())}
          >
            {isActive ? 'Disable' : 'Enable'}
          </Button>
          {!isActive && (
            <CopyAsCurl operation="updateTrustPolicy" input={enabling} label="Copy enabling as curl" />
          )}
          <Button
            variant="default"
            leftSection={<Icon name="trash" size={14} />}
            onClick={() => setDialog('delete')}
          >
            Delete
          </Button>
        </>
      )}
      <CopyAsCurl operation="getTrustPolicy" input={{ params: { policyId } }} />
      <PolicyDialog
        key={`${policyId} ${edited.updatedAt}`}
        policy={edited}
        opened={dialog === 'edit'}
        onClose={close}
        onDone={close}
      />
      <ConfirmEnding
        opened={dialog === 'disable'}
        onClose={close}
        title="Disable this trust policy?"
        confirmLabel="Disable"
        onConfirm={async () => {
          await change.mutateAsync(disabling);
          showDone('Trust policy disabled');
        }}
        extra={<CopyAsCurl operation="updateTrustPolicy" input={disabling} />}
      >
        Workloads that match <TenantText text={policy.name} /> get no more tokens of{' '}
        <AgentName agentId={policy.agentId} link={false} /> until you enable it again. Tokens that they
        already have live until they expire.
      </ConfirmEnding>
      <ConfirmEnding
        opened={dialog === 'delete'}
        onClose={close}
        title="Delete this trust policy?"
        confirmLabel="Delete"
        onConfirm={async () => {
          await remove.mutateAsync({ params: { policyId } });
          showDone('Trust policy deleted');
          onGone();
        }}
        extra={<CopyAsCurl operation="deleteTrustPolicy" input={{ params: { policyId } }} />}
      >
        Workloads that match <TenantText text={policy.name} /> get no more tokens of{' '}
        <AgentName agentId={policy.agentId} link={false} />, from now on. Tokens that they already have live
        until they expire. To stop it for a while, disable the policy instead.
      </ConfirmEnding>
    </Group>
  );
}
