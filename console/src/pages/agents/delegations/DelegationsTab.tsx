import { Button } from '@mantine/core';
import type { Agent, DelegationChain } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { PageLink, usePageSearch } from '../../../app/navigation.tsx';
import { useCan, useMayLendForOthers, useSession } from '../../../app/session-context.tsx';
import classes from '../../../components/AgentName.module.css';
import { AgentName } from '../../../components/AgentName.tsx';
import { CopyAs } from '../../../components/CopyAs.tsx';
import type { Column } from '../../../components/DataTable.tsx';
import { statusColumn, timeColumn } from '../../../components/DataTable.tsx';
import type { Filter } from '../../../components/FilterBar.tsx';
import { ListPage } from '../../../components/ListPage.tsx';
import { NoPermission } from '../../../components/NoPermission.tsx';
import { PartyName } from '../../../components/PartyName.tsx';
import { ScopeList } from '../../../components/ScopeList.tsx';
import { TenantText } from '../../../components/TenantText.tsx';
import { agentPage } from '../page.ts';

const limit = 20;

const filters: readonly Filter[] = [
  {
    kind: 'choice',
    name: 'role',
    label: 'Direction',
    options: [
      { value: 'delegator', label: 'given' },
      { value: 'delegatee', label: 'received' },
    ],
  },
  { kind: 'choice', name: 'chain', label: 'Status', options: ['active', 'expired', 'revoked'] },
];

const columnsFor = (agentId: string): readonly Column<DelegationChain>[] => [
  {
    header: 'Direction',
    width: '6.5rem',
    cell: ({ chainId, delegatorId, delegateeId }) => (
      <PageLink
        to="/delegations"
        search={{ agentId, selected: chainId, status: 'all', view: 'table' }}
        className={classes.link}
      >
        {delegatorId === agentId ? 'given' : delegateeId === agentId ? 'received' : 'passed on'}
      </PageLink>
    ),
  },
  {
    header: 'From',
    cell: ({ delegatorType, delegatorId }) => <PartyName type={delegatorType} id={delegatorId} />,
  },
  { header: 'To', cell: ({ delegateeId }) => <AgentName agentId={delegateeId} /> },
  { header: 'Scopes', cell: ({ scopes }) => <ScopeList scopes={scopes} /> },
  {
    header: 'API',
    cell: ({ resource }) => (resource === null ? 'Countersign' : <TenantText text={resource.join(', ')} />),
  },
  statusColumn('6.5rem'),
  timeColumn('Expires', ({ expiresAt }) => expiresAt),
];

/** Delegations of one's own agent are visible to it; those of others need audit:read. */
export function DelegationsTab({ agent }: { readonly agent: Agent }) {
  const { agentId } = useSession();
  const mayRead = useCan()('audit:read') || agentId === agent.agentId;
  return mayRead ? <DelegationList agent={agent} /> : <NoPermission scope="audit:read" />;
}

function DelegationList({ agent: { agentId, status } }: { readonly agent: Agent }) {
  const [{ role, chain, page }, setSearch] = usePageSearch(agentPage);
  const session = useSession();
  const can = useCan();
  const named = can('audit:read') || agentId !== session.agentId ? { agentId } : {};
  const input = { query: { ...named, role: role ?? 'any', status: chain, page, limit } } as const;
  const delegations = useApi('listDelegations', input, { keepPrevious: true });
  const mayLendForOthers = useMayLendForOthers();
  const mayLend = status === 'active' && (mayLendForOthers || agentId === session.agentId);
  const linkTo = (label: string) => (
    <Button component={PageLink} to="/delegations" search={{ agentId, status: 'all' }} variant="default">
      {label}
    </Button>
  );
  return (
    <ListPage
      withTitle={false}
      actions={
        <>
          <CopyAs operation="listDelegations" input={input} />
          {linkTo('Show on the delegations page')}
          {mayLend && (
            <Button component={PageLink} to="/delegations" search={{ agentId, delegate: '1' }}>
              Lend its scopes
            </Button>
          )}
        </>
      }
      title="Delegations"
      noun="delegations"
      query={delegations}
      columns={columnsFor(agentId)}
      rowId={({ chainId }) => chainId}
      search={{ role, chain }}
      onSearch={setSearch}
      filters={filters}
      empty={{
        icon: 'delegations',
        title: 'No delegations',
        text: 'An agent can lend scopes that it holds to another agent, for a limited time.',
      }}
    />
  );
}
