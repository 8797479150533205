import { Button, Group, List } from '@mantine/core';
import { useMemo, useState } from 'react';
import type { Grant, Resource } from '../../api/generated.ts';
import { useAction, useApi } from '../../api/queries.ts';
import { usePageSearch } from '../../app/navigation.tsx';
import { useCan } from '../../app/session-context.tsx';
import { AgentName } from '../../components/AgentName.tsx';
import { ConfirmEnding } from '../../components/ConfirmEnding.tsx';
import { CopyAsCurl } from '../../components/CopyAsCurl.tsx';
import type { Column } from '../../components/DataTable.tsx';
import { ListPage } from '../../components/ListPage.tsx';
import { showDone } from '../../components/notices.tsx';
import { offlineNote } from '../../components/offline-note.ts';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { GrantDialog } from './dialogs/GrantDialog.tsx';
import { apiPage } from './page.ts';
import { ScopeBadges } from './ScopeBadges.tsx';

type Open = { readonly dialog: 'change' | 'remove'; readonly grant: Grant } | undefined;

const columnsFor = (mayGrant: boolean, open: (open: Open) => void): readonly Column<Grant>[] => [
  { id: 'agent', header: 'Agent', cell: ({ agentId }) => <AgentName agentId={agentId} /> },
  { id: 'scopes', header: 'Scopes', cell: ({ scopes }) => <ScopeBadges scopes={scopes} max={8} /> },
  { id: 'by', header: 'Granted by', cell: ({ grantedBy }) => <AgentName agentId={grantedBy} /> },
  {
    id: 'updated',
    header: 'Changed',
    width: '9rem',
    cell: ({ updatedAt }) => <RelativeTime time={updatedAt} />,
  },
  ...(mayGrant
    ? [
        {
          id: 'actions',
          header: 'Actions',
          width: '12.5rem',
          cell: (grant: Grant) => (
            <Group gap={4} wrap="nowrap">
              <Button variant="default" size="compact-xs" onClick={() => open({ dialog: 'change', grant })}>
                Change
              </Button>
              <Button variant="default" size="compact-xs" onClick={() => open({ dialog: 'remove', grant })}>
                Take back
              </Button>
            </Group>
          ),
        },
      ]
    : []),
];

/** The agents of the organization that hold scopes of the API. */
export function Holders({ resource }: { readonly resource: Resource }) {
  const { resourceId } = resource;
  const [search, setSearch] = usePageSearch(apiPage);
  const [open, setOpen] = useState<Open>();
  const mayGrant = useCan()('agents:write');
  const input = { params: { resourceId }, query: { scope: search.scope, page: search.page } };
  const query = useApi('listResourceGrants', input, { keepPrevious: true });
  const remove = useAction('deleteAgentGrant', { refreshes: ['/resources', '/agents'] });
  const columns = useMemo(() => columnsFor(mayGrant, setOpen), [mayGrant]);
  const close = () => setOpen(undefined);
  return (
    <>
      <Group justify="flex-end" mb="xs">
        <CopyAsCurl operation="listResourceGrants" input={input} />
      </Group>
      <ListPage
        title="Holders"
        withTitle={false}
        noun="holders"
        query={query}
        columns={columns}
        rowId={({ agentId }) => agentId}
        search={search}
        onSearch={setSearch}
        filters={[
          { kind: 'choice', name: 'scope', label: 'Scope', options: resource.scopes.map(({ name }) => name) },
        ]}
        empty={{
          icon: 'agents',
          title: 'No agent holds a scope of this API',
          text: 'Grant scopes to an agent. It can then get tokens for this API.',
          action: mayGrant && <Button onClick={() => setSearch({ grant: true })}>Grant to an agent</Button>,
        }}
      />
      {open?.dialog === 'change' && <GrantDialog resource={resource} grant={open.grant} onClose={close} />}
      {open?.dialog === 'remove' && (
        <ConfirmEnding
          opened
          onClose={close}
          title="Take this grant back?"
          confirmLabel="Take back"
          onConfirm={async () => {
            await remove.mutateAsync({ params: { agentId: open.grant.agentId, resourceId } });
            showDone('Grant taken back');
          }}
          extra={
            <CopyAsCurl
              operation="deleteAgentGrant"
              input={{ params: { agentId: open.grant.agentId, resourceId } }}
            />
          }
        >
          For <AgentName agentId={open.grant.agentId} link={false} /> this ends:
          <List size="sm" mt="xs">
            <List.Item>
              The scopes <ScopeBadges scopes={open.grant.scopes} />
            </List.Item>
            <List.Item>Its tokens for this API, at once for introspection. {offlineNote()}</List.Item>
            <List.Item>What it has passed on by delegation.</List.Item>
          </List>
        </ConfirmEnding>
      )}
    </>
  );
}
