import type { TrustPolicy } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import { usePageSearch } from '../../app/navigation.tsx';
import type { PageSearch } from '../../app/page.ts';
import { useCan } from '../../app/session-context.tsx';
import { AgentName } from '../../components/AgentName.tsx';
import type { Column } from '../../components/DataTable.tsx';
import { statusColumn } from '../../components/DataTable.tsx';
import type { Filter } from '../../components/FilterBar.tsx';
import { ListPage } from '../../components/ListPage.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { PolicyDetail } from './PolicyDetail.tsx';
import { PolicyDialog } from './PolicyDialog.tsx';
import { trustPage } from './page.ts';
import { presets, providers } from './presets.ts';
import classes from './Trust.module.css';

const columns: readonly Column<TrustPolicy>[] = [
  { header: 'Name', cell: ({ name }) => <Cell text={name} />, width: '20%' },
  { header: 'Provider', cell: ({ provider }) => presets[provider].label, width: '9rem' },
  { header: 'Subject', cell: ({ subject }) => <Cell text={subject ?? 'by conditions'} />, width: '26%' },
  {
    header: 'Becomes agent',
    cell: ({ agentId }) => (
      <span className={classes.cell}>
        <AgentName agentId={agentId} />
      </span>
    ),
    width: '18%',
  },
  statusColumn('6rem'),
  {
    header: 'Last used',
    cell: ({ lastUsedAt }) => (
      <span className={classes.nowrap}>
        <RelativeTime time={lastUsedAt} />
      </span>
    ),
    width: '8rem',
  },
];

const Cell = ({ text }: { readonly text: string }) => (
  <span className={classes.cell}>
    <TenantText text={text} />
  </span>
);

const filters: readonly Filter[] = [
  {
    kind: 'choice',
    name: 'provider',
    label: 'Provider',
    options: providers.map((provider) => ({ value: provider, label: presets[provider].label })),
  },
  {
    kind: 'choice',
    name: 'status',
    label: 'Status',
    options: [
      { value: 'active', label: 'Active' },
      { value: 'disabled', label: 'Disabled' },
    ],
  },
  { kind: 'agent', name: 'agentId', label: 'Agent' },
  { kind: 'time' },
];

export const policiesInput = ({
  agentId,
  provider,
  status,
  from,
  to,
  page,
}: PageSearch<typeof trustPage>) => ({
  query: { page, limit: 20, agentId, provider, status, since: from, until: to },
});

export function Policies() {
  const can = useCan();
  const [search, setSearch] = usePageSearch(trustPage);
  const list = useApi('listTrustPolicies', policiesInput(search), { keepPrevious: true });
  const mayChange = can('agents:write');
  return (
    <>
      <ListPage
        title="Trust policies"
        withTitle={false}
        noun="trust policies"
        query={list}
        columns={columns}
        rowId={({ policyId }) => policyId}
        search={search}
        onSearch={setSearch}
        filters={filters}
        empty={{
          title: 'No trust policies yet',
          text: 'With a trust policy a workload, such as a GitHub workflow or a Kubernetes pod, gets tokens of an agent without a secret.',
          icon: 'trust',
        }}
        detail={{
          title: (_, row) => (row ? <TenantText text={row.name} /> : 'Trust policy'),
          render: (id) => <PolicyDetail policyId={id} onGone={() => setSearch({ selected: undefined })} />,
        }}
      />
      <PolicyDialog
        opened={search.create && mayChange}
        onClose={() => setSearch({ create: false })}
        onDone={(policyId) => setSearch({ create: false, selected: policyId })}
      />
    </>
  );
}
