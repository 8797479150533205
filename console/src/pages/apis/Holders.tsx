import { List } from '@mantine/core';
import { useMemo, useState } from 'react';
import type { Grant, Resource } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import { usePageSearch } from '../../app/navigation.tsx';
import { useCan } from '../../app/session-context.tsx';
import { AgentName } from '../../components/AgentName.tsx';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import type { Column } from '../../components/DataTable.tsx';
import { timeColumn } from '../../components/DataTable.tsx';
import { ListPage } from '../../components/ListPage.tsx';
import { offlineVerificationNote } from '../../components/offline-verification.ts';
import { RowActions } from '../../components/RowActions.tsx';
import { ScopeList } from '../../components/ScopeList.tsx';
import { GrantDialog } from './dialogs/GrantDialog.tsx';
import { apiPage } from './page.ts';

type Open = { readonly dialog: 'change' | 'remove'; readonly grant: Grant } | undefined;

const columnsFor = (mayGrant: boolean, open: (open: Open) => void): readonly Column<Grant>[] => [
  { header: 'Agent', cell: ({ agentId }) => <AgentName agentId={agentId} /> },
  { header: 'Scopes', cell: ({ scopes }) => <ScopeList scopes={scopes} max={8} /> },
  { header: 'Granted by', cell: ({ grantedBy }) => <AgentName agentId={grantedBy} /> },
  timeColumn('Changed', ({ updatedAt }) => updatedAt),
  ...(mayGrant
    ? [
        {
          header: 'Actions',
          width: '12.5rem',
          cell: (grant: Grant) => (
            <RowActions
              actions={{
                Change: () => open({ dialog: 'change', grant }),
                Remove: () => open({ dialog: 'remove', grant }),
              }}
            />
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
  const columns = useMemo(() => columnsFor(mayGrant, setOpen), [mayGrant]);
  const close = () => setOpen(undefined);
  return (
    <>
      <ListPage
        title="Holders"
        withTitle={false}
        actions={<CopyAs operation="listResourceGrants" input={input} />}
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
        }}
      />
      {open?.dialog === 'change' && <GrantDialog resource={resource} grant={open.grant} onClose={close} />}
      {open?.dialog === 'remove' && (
        <ConfirmDialog
          opened
          onClose={close}
          title="Remove this grant?"
          confirmLabel="Remove grant"
          operation="deleteAgentGrant"
          input={{ params: { agentId: open.grant.agentId, resourceId } }}
          refreshes={['/resources', '/agents']}
          doneMessage="Grant removed."
        >
          For <AgentName agentId={open.grant.agentId} link={false} /> this ends:
          <List size="sm" mt="xs">
            <List.Item>
              The scopes <ScopeList scopes={open.grant.scopes} max={100} />
            </List.Item>
            <List.Item>
              Its tokens for this API, at once for introspection. {offlineVerificationNote()}
            </List.Item>
            <List.Item>What it has passed on by delegation.</List.Item>
          </List>
        </ConfirmDialog>
      )}
    </>
  );
}
