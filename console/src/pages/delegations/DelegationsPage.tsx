import { Alert, SegmentedControl } from '@mantine/core';
import { lazy, Suspense } from 'react';
import type { DelegationChain } from '../../api/generated.ts';
import { loadModule } from '../../api/load-module.ts';
import { useApi } from '../../api/queries.ts';
import { usePageSearch } from '../../app/navigation.tsx';
import { operatorScope } from '../../app/page.ts';
import { useSession } from '../../app/session-context.tsx';
import { AgentName } from '../../components/AgentName.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import type { Column } from '../../components/DataTable.tsx';
import { statusColumn } from '../../components/DataTable.tsx';
import { DetailPane } from '../../components/DetailPane.tsx';
import { type Filter, FilterBar } from '../../components/FilterBar.tsx';
import { Icon } from '../../components/Icon.tsx';
import { IconButton } from '../../components/IconButton.tsx';
import { ListPage } from '../../components/ListPage.tsx';
import { OpenLink } from '../../components/OpenLink.tsx';
import { PageTitle } from '../../components/PageTitle.tsx';
import { PartyName } from '../../components/PartyName.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { DelegateDialog } from './DelegateDialog.tsx';
import { DelegationDetail, Scopes } from './DelegationDetail.tsx';
import classes from './DelegationsPage.module.css';
import { delegationsPage } from './page.ts';
import type { LinkFilters } from './use-graph.ts';

const GraphPanel = lazy(async () => ({
  default: (await loadModule(() => import('./GraphPanel.tsx'))).GraphPanel,
}));

const columns: readonly Column<DelegationChain>[] = [
  {
    header: 'Delegator',
    cell: ({ chainId, delegatorType, delegatorId }) => (
      <span className={classes.name}>
        <OpenLink id={chainId}>
          <PartyName type={delegatorType} id={delegatorId} link={false} />
        </OpenLink>
      </span>
    ),
    width: '22%',
  },
  {
    header: 'Delegatee',
    cell: ({ delegateeId }) => (
      <span className={classes.name}>
        <AgentName agentId={delegateeId} />
      </span>
    ),
    width: '22%',
  },
  { header: 'Scopes', cell: ({ scopes }) => <Scopes scopes={scopes} shown={2} />, width: '14rem' },
  { header: 'API', cell: ({ resource }) => <TenantText text={apiOf(resource)} /> },
  { header: 'Depth', cell: ({ depth }) => depth, width: '4rem', align: 'right' },
  statusColumn('6rem'),
  { header: 'Ends', cell: (link) => <Ends link={link} />, width: '9rem' },
];

const statusFilter: Filter = {
  kind: 'choice',
  name: 'status',
  label: 'Status',
  options: [
    { value: 'active', label: 'Active' },
    { value: 'expired', label: 'Expired' },
    { value: 'revoked', label: 'Revoked' },
  ],
};
const roleFilter: Filter = {
  kind: 'choice',
  name: 'role',
  label: 'Role',
  options: [
    { value: 'delegator', label: 'Gave it' },
    { value: 'delegatee', label: 'Was given it' },
  ],
};
const subjectFilter: Filter = {
  kind: 'choice',
  name: 'subjectType',
  label: 'On behalf of',
  options: [
    { value: 'person', label: 'People' },
    { value: 'agent', label: 'Agents' },
  ],
};
const agentFilter: Filter = { kind: 'agent', name: 'agentId', label: 'Agent' };
const timeFilter: Filter = { kind: 'time' };
const organizationFilter: Filter = {
  kind: 'text',
  name: 'organizationId',
  label: 'Organization id',
  maxLength: 36,
};

export function DelegationsPage() {
  const session = useSession();
  const [search, setSearch] = usePageSearch(delegationsPage);
  const readsAll = session.scopes.includes('audit:read');
  const crossesOrganizations = session.multiTenant && session.scopes.includes(operatorScope);
  const {
    agentId,
    role,
    status,
    subjectType,
    organizationId,
    from,
    to,
    page,
    selected,
    view,
    delegate,
    lender,
  } = search;
  const query: LinkFilters = {
    ...(readsAll && { organizationId: organizationId ?? session.organizationId }),
    ...(readsAll && agentId !== undefined && { agentId }),
    ...(role && { role }),
    ...(readsAll && subjectType && { subjectType }),
    ...(status !== 'all' && { status }),
    ...(from !== undefined && { since: from }),
    ...(to !== undefined && { until: to }),
  };
  const list = useApi('listDelegations', { query: { ...query, page, limit: 20 } }, { keepPrevious: true });
  const select = (chainId: string | undefined) => setSearch({ selected: chainId });
  const filters = [
    statusFilter,
    ...(readsAll ? [agentFilter, subjectFilter] : []),
    ...(!readsAll || agentId !== undefined ? [roleFilter] : []),
    ...(crossesOrganizations ? [organizationFilter] : []),
    timeFilter,
  ];
  const isFiltered =
    agentId !== undefined ||
    role !== undefined ||
    subjectType !== undefined ||
    organizationId !== undefined ||
    (from ?? to) !== undefined ||
    status !== 'active';
  const isEmpty = list.data?.total === 0 && !isFiltered;
  const any = useApi(
    'listDelegations',
    { query: { ...(readsAll && { organizationId: session.organizationId }), limit: 1 } },
    { enabled: isEmpty },
  );
  // Those that have ended are found by a filter.
  const hasNone = isEmpty && any.data?.total === 0;
  const mayDelegate = session.role !== 'viewer';

  return (
    <>
      <PageTitle
        title="Delegations"
        description="Who lends which scopes to whom, until when. Revoking a delegation also ends all that was passed on from it."
        actions={
          <>
            <CopyAs operation="listDelegations" input={{ query: { ...query, page, limit: 20 } }} />
            {mayDelegate && (
              <IconButton icon="plus" onClick={() => setSearch({ delegate: true })}>
                Delegate
              </IconButton>
            )}
          </>
        }
      />
      {!readsAll && (
        <Alert mb="sm" icon={<Icon name="lock" />}>
          These are the delegations of your own agent. The whole organization needs the scope audit:read.
        </Alert>
      )}
      <div className={classes.filters}>
        {!hasNone && (
          <FilterBar
            filters={filters}
            values={{
              status: status === 'all' ? undefined : status,
              agentId,
              role,
              subjectType,
              organizationId,
              from,
              to,
            }}
            onChange={(changes) =>
              setSearch({
                ...changes,
                ...('status' in changes && { status: changes.status ?? 'all' }),
                // The role is that of the agent.
                ...('agentId' in changes && changes.agentId === undefined && { role: undefined }),
                page: 1,
                selected: undefined,
              } as Partial<typeof search>)
            }
          />
        )}
        <SegmentedControl
          className={classes.view ?? ''}
          size="xs"
          aria-label="View"
          value={view}
          onChange={(next) => setSearch({ view: next as typeof view })}
          data={[
            { value: 'graph', label: 'Graph and table' },
            { value: 'table', label: 'Table' },
          ]}
        />
      </div>
      <div className={classes.columns}>
        <div className={classes.list}>
          {view === 'graph' && (
            <Suspense
              fallback={<div className={classes.placeholder} role="status" aria-label="Loading the graph" />}
            >
              <div className={classes.graph} data-beside={selected !== undefined || undefined}>
                <GraphPanel
                  query={query}
                  selectedId={selected}
                  onSelect={select}
                  onAgent={readsAll ? (id) => setSearch({ agentId: id, page: 1 }) : undefined}
                />
              </div>
            </Suspense>
          )}
          <ListPage
            title="Delegations"
            withTitle={false}
            noun="delegations"
            query={list}
            columns={columns}
            rowId={({ chainId }) => chainId}
            search={search}
            onSearch={setSearch}
            empty={
              isFiltered
                ? { title: 'No delegations match', text: 'Change or clear the filters.', icon: 'filter' }
                : {
                    title: 'No active delegations',
                    text: 'A delegation lends scopes to another agent for a limited time. The delegatee needs none of them itself.',
                    icon: 'delegations',
                  }
            }
          />
        </div>
        {selected !== undefined && (
          <DetailPane opened onClose={() => select(undefined)} title="Delegation">
            <DelegationDetail chainId={selected} onSelect={select} />
          </DetailPane>
        )}
      </div>
      <DelegateDialog
        opened={delegate && mayDelegate}
        onClose={() => setSearch({ delegate: false, lender: undefined })}
        lender={lender}
        onDone={select}
      />
    </>
  );
}

/** The API that a delegation is for. */
const apiOf = (resource: readonly string[] | null): string => resource?.join(', ') ?? 'Countersign API';

function Ends({ link: { status, expiresAt, revokedAt } }: { readonly link: DelegationChain }) {
  return (
    <span className={classes.nowrap}>
      <RelativeTime time={status === 'revoked' ? revokedAt : expiresAt} />
    </span>
  );
}
