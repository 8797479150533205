import { Text } from '@mantine/core';
import type { Listing } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import { useCan } from '../../app/session-context.tsx';
import { AgentName } from '../../components/AgentName.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import type { Column } from '../../components/DataTable.tsx';
import { statusColumn, timeColumn } from '../../components/DataTable.tsx';
import { IconButton } from '../../components/IconButton.tsx';
import { ListPage } from '../../components/ListPage.tsx';
import { OpenLink } from '../../components/OpenLink.tsx';
import { QueryState } from '../../components/QueryState.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import type { ViewProps } from './FindAgents.tsx';
import { ListingActions } from './ListingActions.tsx';
import { ListingDialog } from './ListingDialog.tsx';
import { ListingFacts, ListingHeading } from './ListingFacts.tsx';
import { listingStatuses } from './listing.ts';
import classes from './Marketplace.module.css';

const columns: readonly Column<Listing>[] = [
  {
    header: 'Listing',
    hasLink: true,
    cell: ({ listingId, title, agentId }) => (
      <div className={classes.cell}>
        <Text fw={600} size="sm" component="div">
          <OpenLink id={listingId}>
            <TenantText text={title} />
          </OpenLink>
        </Text>
        <Text size="xs" component="div">
          <AgentName agentId={agentId} />
        </Text>
      </div>
    ),
  },
  statusColumn(),
  timeColumn('Changed', ({ updatedAt }) => updatedAt),
];

/** The listings of the own organization, of any status. */
export function OwnListings({ search, onSearch, tabs }: ViewProps) {
  const can = useCan();
  const { status, page } = search;
  const query = { status, page };
  const listings = useApi('listListings', { query }, { keepPrevious: true });
  const create = can('agents:write') && (
    <IconButton icon="plus" onClick={() => onSearch({ create: true })}>
      List an agent
    </IconButton>
  );
  return (
    <>
      <ListPage
        title="Marketplace"
        description="Listings of your organization. A draft is visible to your organization only; publish it to put it on show."
        noun="listings"
        query={listings}
        columns={columns}
        rowId={({ listingId }) => listingId}
        search={search}
        onSearch={onSearch}
        filters={[{ kind: 'choice', name: 'status', label: 'Status', options: listingStatuses }]}
        actions={
          <>
            {tabs}
            <CopyAs operation="listListings" input={{ query }} />
          </>
        }
        create={create}
        empty={{
          title: 'No listings yet',
          text: 'A listing offers one of your agents to others.',
          icon: 'marketplace',
        }}
        detail={{
          title: (_, listing) => <ListingHeading listing={listing} />,
          render: (listingId, listing) => (
            <OwnListing
              listingId={listingId}
              listing={listing}
              onDeleted={() => onSearch({ selected: undefined })}
            />
          ),
        }}
      />
      <ListingDialog
        opened={search.create && can('agents:write')}
        onClose={() => onSearch({ create: false })}
        listing={undefined}
        onSaved={({ listingId }) => onSearch({ create: false, selected: listingId })}
      />
    </>
  );
}

interface OwnListingProps {
  readonly listingId: string;
  /** Undefined: it is on another page of the list. */
  readonly listing: Listing | undefined;
  readonly onDeleted: () => void;
}

function OwnListing({ listingId, listing, onDeleted }: OwnListingProps) {
  const other = useApi('getListing', { params: { listingId } }, { enabled: listing === undefined });
  return (
    <QueryState query={{ ...other, data: listing ?? other.data }} label="Loading the listing" rows={4}>
      {(shown) => (
        <>
          <ListingActions listing={shown} onDeleted={onDeleted} />
          <ListingFacts listing={shown} />
        </>
      )}
    </QueryState>
  );
}
