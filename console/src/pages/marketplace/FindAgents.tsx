import { Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Listing } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import type { PageSearch } from '../../app/page.ts';
import { agentTypes } from '../../components/agent-types.ts';
import { CopyAs } from '../../components/CopyAs.tsx';
import type { Column } from '../../components/DataTable.tsx';
import { timeColumn } from '../../components/DataTable.tsx';
import type { Filter } from '../../components/FilterBar.tsx';
import { ListPage } from '../../components/ListPage.tsx';
import { OpenLink } from '../../components/OpenLink.tsx';
import { QueryState } from '../../components/QueryState.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { ListingFacts, ListingHeading, Publisher, VerifiedBadge } from './ListingFacts.tsx';
import classes from './Marketplace.module.css';
import type { marketplacePage } from './page.ts';

const filters: readonly Filter[] = [
  { kind: 'text', name: 'q', label: 'Search', placeholder: 'Words, "phrases", -exclusions' },
  { kind: 'text', name: 'capability', label: 'Capability', maxLength: 128 },
  { kind: 'text', name: 'category', label: 'Category', maxLength: 40 },
  { kind: 'choice', name: 'agentType', label: 'Type', options: agentTypes },
  {
    kind: 'choice',
    name: 'verified',
    label: 'Verified',
    options: [
      { value: 'true', label: 'Verified' },
      { value: 'false', label: 'Not verified' },
    ],
  },
];

const columns: readonly Column<Listing>[] = [
  {
    header: 'Published by',
    hasLink: true,
    cell: (listing) => <Publisher listing={listing} />,
    width: '14rem',
  },
  { header: 'Identity', cell: ({ verified }) => <VerifiedBadge verified={verified} />, width: '7rem' },
  {
    header: 'Agent, as the publisher describes it',
    cell: (listing) => <TitleAndSummary listing={listing} />,
  },
  { header: 'Type', cell: ({ agentType }) => agentType, width: '8rem' },
  {
    header: 'Categories',
    cell: ({ categories }) => <TenantText text={categories.join(', ')} />,
    width: '12rem',
  },
  timeColumn('Published', ({ publishedAt }) => publishedAt),
];

type Search = PageSearch<typeof marketplacePage>;

/** The two views of the page have the same inputs. */
export interface ViewProps {
  readonly search: Search;
  readonly onSearch: (changes: Partial<Search>) => void;
  /** The switch between the views. */
  readonly tabs: ReactNode;
}

/** Listings that are on show for this organization. */
export function FindAgents({ search, onSearch, tabs }: ViewProps) {
  const { q, capability, category, agentType, verified, page } = search;
  const query = { q, capability, category, agentType, verified, page };
  const listings = useApi('searchMarketplace', { query }, { keepPrevious: true });
  return (
    <ListPage
      title="Marketplace"
      description="Agents that organizations offer to others."
      noun="listings"
      query={listings}
      columns={columns}
      rowId={({ listingId }) => listingId}
      search={search}
      onSearch={onSearch}
      filters={filters}
      actions={
        <>
          {tabs}
          <CopyAs operation="searchMarketplace" input={{ query }} />
        </>
      }
      empty={{
        title: 'No agents on offer yet',
        text: 'Agents appear here when an organization publishes a listing for them.',
        icon: 'marketplace',
      }}
      detail={{
        title: (_, listing) => <ListingHeading listing={listing} />,
        render: (listingId, listing) =>
          listing ? <ListingFacts listing={listing} /> : <OtherPage listingId={listingId} />,
      }}
    />
  );
}

/** A listing that a link names and this page of the list does not have. */
function OtherPage({ listingId }: { readonly listingId: string }) {
  const query = useApi('getMarketplaceAgent', { params: { listingId } });
  return (
    <QueryState query={query} label="Loading the listing" rows={4}>
      {(listing) => <ListingFacts listing={listing} />}
    </QueryState>
  );
}

const TitleAndSummary = ({ listing }: { readonly listing: Listing }) => (
  <div className={classes.cell}>
    <Text fw={600} size="sm" component="div">
      <OpenLink id={listing.listingId}>
        <TenantText text={listing.title} />
      </OpenLink>
    </Text>
    <Text size="xs" c="dimmed" component="div">
      <TenantText text={listing.summary} />
    </Text>
  </div>
);
