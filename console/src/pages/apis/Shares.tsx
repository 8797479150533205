import { Group, List, Stack, Text } from '@mantine/core';
import { useMemo, useState } from 'react';
import type { ListedResourceShare, Resource } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import { usePageSearch } from '../../app/navigation.tsx';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import type { Column } from '../../components/DataTable.tsx';
import { timeColumn } from '../../components/DataTable.tsx';
import { IconButton } from '../../components/IconButton.tsx';
import { ListPage } from '../../components/ListPage.tsx';
import { RowActions } from '../../components/RowActions.tsx';
import { ScopeList } from '../../components/ScopeList.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import { ShareDialog } from './dialogs/ShareDialog.tsx';
import { apiPage } from './page.ts';

type Share = ListedResourceShare;
type Open =
  | { readonly dialog: 'new' }
  | { readonly dialog: 'change' | 'remove'; readonly share: Share }
  | undefined;

const columnsFor = (open: (open: Open) => void): readonly Column<Share>[] => [
  { header: 'Organization', cell: ({ organizationId }) => <code>{organizationId}</code> },
  {
    header: 'Status',
    width: '8rem',
    cell: ({ status }) => (
      <StatusBadge status={status === 'accepted' ? 'active' : 'pending'} label={status} />
    ),
  },
  {
    header: 'Scopes',
    cell: ({ status, scopes, offeredScopes }) => (
      <Stack gap={4}>
        <ScopeList scopes={scopes} max={8} />
        {status === 'accepted' && offeredScopes.length > 0 && (
          <Group gap={4}>
            <Text size="xs" c="dimmed">
              waiting:
            </Text>
            <ScopeList scopes={offeredScopes} max={8} />
          </Group>
        )}
      </Stack>
    ),
  },
  {
    header: 'Agents with a grant',
    width: '10rem',
    align: 'right',
    cell: ({ agentCount }) => agentCount.toLocaleString('en'),
  },
  timeColumn('Changed', ({ updatedAt }) => updatedAt),
  {
    header: 'Actions',
    width: '12.5rem',
    cell: (share) => (
      <RowActions
        actions={{
          Change: () => open({ dialog: 'change', share }),
          'End share': () => open({ dialog: 'remove', share }),
        }}
      />
    ),
  },
];

/** The organizations that an API is shared with. */
export function Shares({ resource }: { readonly resource: Resource }) {
  const { resourceId } = resource;
  const [search, setSearch] = usePageSearch(apiPage);
  const [open, setOpen] = useState<Open>();
  const input = { params: { resourceId }, query: { page: search.page } };
  const query = useApi('listResourceShares', input, { keepPrevious: true });
  const columns = useMemo(() => columnsFor(setOpen), []);
  const close = () => setOpen(undefined);
  const shareButton = (
    <IconButton icon="plus" onClick={() => setOpen({ dialog: 'new' })}>
      Share with an organization
    </IconButton>
  );
  return (
    <>
      <Group justify="space-between" mb="sm">
        <Text size="sm" c="dimmed" maw="40rem">
          A share is an offer until an admin of the other organization accepts it. The admin can then grant
          the shared scopes to its own agents. You see how many agents hold a grant, not which.
        </Text>
        <Group gap="xs" ml="auto">
          <CopyAs operation="listResourceShares" input={input} />
          {shareButton}
        </Group>
      </Group>
      <ListPage
        title="Shares"
        withTitle={false}
        noun="shares"
        query={query}
        columns={columns}
        rowId={({ organizationId }) => organizationId}
        search={search}
        onSearch={setSearch}
        empty={{
          icon: 'organization',
          title: 'Not shared',
          text: 'Only agents of your organization can get tokens for this API.',
        }}
      />
      {open?.dialog === 'new' && <ShareDialog resource={resource} onClose={close} />}
      {open?.dialog === 'change' && <ShareDialog resource={resource} share={open.share} onClose={close} />}
      {open?.dialog === 'remove' && (
        <ConfirmDialog
          opened
          onClose={close}
          title="End this share?"
          confirmLabel="End share"
          operation="deleteResourceShare"
          input={{ params: { resourceId, organizationId: open.share.organizationId } }}
          refreshes={['/resources']}
          doneMessage="Share ended"
        >
          For organization <code>{open.share.organizationId}</code> this ends:
          <List size="sm" mt="xs">
            <List.Item>
              The scopes <ScopeList scopes={open.share.scopes} max={100} />
            </List.Item>
            <List.Item>
              The grants of {open.share.agentCount.toLocaleString('en')} of its agents, and their tokens for
              this API.
            </List.Item>
          </List>
        </ConfirmDialog>
      )}
    </>
  );
}
