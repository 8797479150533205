import type { Connection, Organization } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { usePageSearch } from '../../../app/navigation.tsx';
import { CopyAs } from '../../../components/CopyAs.tsx';
import { type Column, statusColumn, timeColumn } from '../../../components/DataTable.tsx';
import { IconButton } from '../../../components/IconButton.tsx';
import { ListPage } from '../../../components/ListPage.tsx';
import { TenantText } from '../../../components/TenantText.tsx';
import { organizationPage } from '../page.ts';
import { ConnectionDetail } from './ConnectionDetail.tsx';
import { ConnectionDialog } from './ConnectionDialog.tsx';

const limit = 20;

const columns: readonly Column<Connection>[] = [
  { header: 'Name', cell: ({ name }) => <TenantText text={name} /> },
  { header: 'Issuer', cell: ({ issuer }) => <TenantText text={issuer} /> },
  {
    header: 'Who may sign in',
    cell: ({ conditions }) =>
      conditions.length === 0
        ? 'everybody of the provider'
        : `who meets ${conditions.length === 1 ? '1 condition' : `${conditions.length} conditions`}`,
  },
  statusColumn('7rem'),
  timeColumn('Added', ({ createdAt }) => createdAt),
];

/** The OpenID providers whose people may sign in to the organization. */
export function ConnectionsTab({ organization }: { readonly organization: Organization }) {
  const [search, setSearch] = usePageSearch(organizationPage);
  const { organizationId } = organization;
  const input = { params: { orgId: organizationId }, query: { page: search.page, limit } };
  const connections = useApi('listConnections', input, { keepPrevious: true });
  const addButton = (
    <IconButton icon="plus" onClick={() => setSearch({ add: true })}>
      Add connection
    </IconButton>
  );
  return (
    <>
      <ListPage
        withTitle={false}
        actions={<CopyAs operation="listConnections" input={input} />}
        create={addButton}
        title="Connections"
        noun="connections"
        query={connections}
        columns={columns}
        rowId={({ connectionId }) => connectionId}
        search={{ page: search.page, selected: search.selected }}
        onSearch={setSearch}
        detail={{
          title: (_, connection) => (connection ? <TenantText text={connection.name} /> : 'Connection'),
          render: (connectionId) => (
            <ConnectionDetail
              key={connectionId}
              organizationId={organizationId}
              connectionId={connectionId}
              onGone={() => setSearch({ selected: undefined })}
            />
          ),
        }}
        empty={{
          icon: 'account',
          title: 'No connections yet',
          text: 'A connection lets the people of your OpenID provider sign in here and decide which agents act for them.',
        }}
      />
      <ConnectionDialog
        organizationId={organizationId}
        opened={search.add}
        onClose={() => setSearch({ add: false })}
      />
    </>
  );
}
