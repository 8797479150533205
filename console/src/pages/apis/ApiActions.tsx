import { Button, List } from '@mantine/core';
import { useState } from 'react';
import type { Resource } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import { useGoTo, usePageSearch } from '../../app/navigation.tsx';
import { useCan, useSession } from '../../app/session-context.tsx';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import { IconButton } from '../../components/IconButton.tsx';
import { offlineVerificationNote } from '../../components/offline-verification.ts';
import { TenantText } from '../../components/TenantText.tsx';
import { ApiDialog } from './dialogs/ApiDialog.tsx';
import { GrantDialog } from './dialogs/GrantDialog.tsx';
import { LeaveDialog, useListRefresh } from './Offers.tsx';
import type { Ownership } from './ownership.ts';
import { apiPage } from './page.ts';

interface ApiActionsProps {
  readonly resource: Resource;
  readonly ownership: Ownership;
  readonly mayChange: boolean;
}

export function ApiActions({ resource, ownership, mayChange }: ApiActionsProps) {
  const { resourceId } = resource;
  const [open, setOpen] = useState<'edit' | 'delete' | 'leave'>();
  const goTo = useGoTo();
  const mayLeave = useSession().role === 'admin' && ownership === 'shared';
  const [search, setSearch] = usePageSearch(apiPage);
  const mayGrant = useCan()('agents:write');
  const close = () => setOpen(undefined);
  return (
    <>
      <CopyAs operation="getResource" input={{ params: { resourceId } }} />
      {mayChange && (
        <>
          <IconButton variant="default" icon="trash" onClick={() => setOpen('delete')}>
            Delete
          </IconButton>
          <IconButton variant="default" icon="edit" onClick={() => setOpen('edit')}>
            Edit
          </IconButton>
        </>
      )}
      {mayLeave && (
        <Button variant="default" onClick={() => setOpen('leave')}>
          Leave share
        </Button>
      )}
      {mayGrant && (
        <IconButton icon="plus" onClick={() => setSearch({ grant: true })}>
          Grant to an agent
        </IconButton>
      )}
      {open === 'edit' && <ApiDialog resource={resource} onClose={close} />}
      {open === 'delete' && <DeleteDialog resource={resource} onClose={close} />}
      {open === 'leave' && (
        <LeaveDialog
          share={{ resourceId, status: 'accepted' }}
          onClose={close}
          onLeft={() => goTo({ to: '/apis' })}
        />
      )}
      {search.grant && mayGrant && (
        <GrantDialog
          resource={resource}
          onClose={() => setSearch({ grant: false })}
          onGranted={() => setSearch({ tab: 'holders', scope: undefined, page: 1 })}
        />
      )}
    </>
  );
}

interface DeleteDialogProps {
  readonly resource: Resource;
  readonly onClose: () => void;
}

function DeleteDialog({ resource, onClose }: DeleteDialogProps) {
  const { resourceId, name } = resource;
  const goTo = useGoTo();
  const params = { resourceId };
  const holders = useApi('listResourceGrants', { params, query: { limit: 1 } }, { staleTime: 0 });
  const shares = useApi('listResourceShares', { params, query: { limit: 100 } }, { staleTime: 0 });
  const refreshLists = useListRefresh();
  const theirAgents = shares.data?.data.reduce((sum, { agentCount }) => sum + agentCount, 0) ?? 0;
  return (
    <ConfirmDialog
      opened
      onClose={onClose}
      title="Delete this API?"
      confirmLabel="Delete API"
      ready={!holders.isPending && !shares.isPending}
      operation="deleteResource"
      input={{ params }}
      doneMessage="API deleted"
      onDone={() => {
        refreshLists();
        goTo({ to: '/apis' });
      }}
    >
      With <TenantText text={name} /> this ends:
      <List size="sm" mt="xs">
        <List.Item>
          {holders.data
            ? `The grants of ${agents(holders.data.total)}, and their tokens for it at once for introspection. ${offlineVerificationNote()}`
            : `The grants of your agents, and their tokens for it at once for introspection. ${offlineVerificationNote()}`}
        </List.Item>
        <List.Item>
          {shares.data
            ? `The shares with ${organizations(shares.data.total)}, with the grants of ${agents(theirAgents)} there.`
            : 'Its shares with other organizations, with the grants of their agents.'}
        </List.Item>
        {resource.verification.status === 'verified' && (
          <List.Item>The identifier stays reserved: only your organization can register it again.</List.Item>
        )}
      </List>
    </ConfirmDialog>
  );
}

const agents = (count: number): string => `${count.toLocaleString('en')} ${count === 1 ? 'agent' : 'agents'}`;
const organizations = (count: number): string =>
  `${count.toLocaleString('en')} ${count === 1 ? 'organization' : 'organizations'}`;
