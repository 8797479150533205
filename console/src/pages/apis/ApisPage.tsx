import { Anchor, Badge, Text } from '@mantine/core';
import { type ReactNode, useMemo } from 'react';
import type { Resource } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import type { Session } from '../../api/session.ts';
import { PageLink, useGoTo, usePageSearch } from '../../app/navigation.tsx';
import { useCan, useSession } from '../../app/session-context.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import type { Column } from '../../components/DataTable.tsx';
import { timeColumn } from '../../components/DataTable.tsx';
import type { Filter } from '../../components/FilterBar.tsx';
import { IconButton } from '../../components/IconButton.tsx';
import { ListPage } from '../../components/ListPage.tsx';
import { ScopeList } from '../../components/ScopeList.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { ApiDialog } from './dialogs/ApiDialog.tsx';
import { Offers } from './Offers.tsx';
import { ownershipOf, ownershipWords } from './ownership.ts';
import { apisPage } from './page.ts';

const filters: readonly Filter[] = [
  { kind: 'text', name: 'q', label: 'Search', placeholder: 'Part of name or identifier', maxLength: 512 },
  { kind: 'time' },
];
const shownScopes = 3;

const columnsFor = (session: Session): readonly Column<Resource>[] => [
  {
    header: 'Name',
    cell: ({ resourceId, name }) => (
      <Anchor component={PageLink} inherit to="/apis/$resourceId" params={{ resourceId }}>
        <TenantText text={name} />
      </Anchor>
    ),
  },
  {
    header: 'Identifier',
    cell: ({ identifier, verification: { status } }) => (
      <>
        <TenantText text={identifier} />{' '}
        {status === 'pending' && <StatusBadge status="pending" label="host not proven" />}
      </>
    ),
  },
  {
    header: 'Scopes',
    cell: ({ scopes }) => <ScopeList scopes={scopes.map(({ name }) => name)} max={shownScopes} />,
  },
  {
    header: 'Owner',
    width: '10rem',
    cell: (resource) => {
      const ownership = ownershipOf(resource, session);
      return ownership === 'own' ? (
        <Text size="sm">{ownershipWords.own}</Text>
      ) : (
        <Badge color={ownership === 'shared' ? 'blue' : 'gray'} tt="none">
          {ownershipWords[ownership]}
        </Badge>
      );
    },
  },
  timeColumn('Changed', ({ updatedAt }) => updatedAt),
];

export function ApisPage(): ReactNode {
  const session = useSession();
  const [search, setSearch] = usePageSearch(apisPage);
  const goTo = useGoTo();
  const mayWrite = useCan()('resources:write');
  const input = { query: { q: search.q, since: search.from, until: search.to, page: search.page } };
  const query = useApi('listResources', input, { keepPrevious: true });
  const columns = useMemo(() => columnsFor(session), [session]);
  const open = (resourceId: string) => goTo({ to: '/apis/$resourceId', params: { resourceId } });
  const register = mayWrite && (
    <IconButton icon="plus" onClick={() => setSearch({ create: true })}>
      Register an API
    </IconButton>
  );
  return (
    <>
      <ListPage
        title="APIs"
        description="Your own APIs and those shared with your organization. Agents get tokens for an API when they hold a grant of its scopes."
        noun="APIs"
        query={query}
        columns={columns}
        rowId={({ resourceId }) => resourceId}
        search={search}
        onSearch={setSearch}
        filters={filters}
        empty={{
          icon: 'apis',
          title: 'No APIs yet',
          text: 'Register an API of yours with its scopes. Then grant scopes to agents, and verify their tokens in your API.',
        }}
        actions={<CopyAs operation="listResources" input={input} />}
        create={register}
      />
      <Offers />
      {search.create && mayWrite && (
        <ApiDialog
          onClose={() => setSearch({ create: false })}
          onRegistered={({ resourceId }) => open(resourceId)}
        />
      )}
    </>
  );
}
