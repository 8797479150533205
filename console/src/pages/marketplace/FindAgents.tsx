import type { Listing } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import { CopyAsCurl } from '../../components/CopyAsCurl.tsx';
import type { Column } from '../../components/DataTable.tsx';
import { ErrorState } from '../../components/ErrorState.tsx';
import type { Filter } from '../../components/FilterBar.tsx';
import { ListPage } from '../../components/ListPage.tsx';
import { LoadingState } from '../../components/LoadingState.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { ListingFacts } from './ListingFacts.tsx';
import { ListingHeading } from './ListingHeading.tsx';
import { agentTypes } from './listing.ts';
import { Publisher } from './Publisher.tsx';
import { TitleAndSummary } from './TitleAndSummary.tsx';
import { VerifiedBadge } from './VerifiedBadge.tsx';
import type { ViewProps } from './view.ts';

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
    id: 'publisher',
    header: 'Published by',
    cell: (listing) => <Publisher listing={listing} />,
    width: '14rem',
  },
  {
    id: 'verified',
    header: 'Identity',
    cell: ({ verified }) => <VerifiedBadge verified={verified} />,
    width: '7rem',
  },
  {
    id: 'title',
    header: 'Agent, as the publisher describes it',
    cell: (listing) => <TitleAndSummary listing={listing} />,
  },
  { id: 'type', header: 'Type', cell: ({ agentType }) => agentType, width: '8rem' },
  {
    id: 'categories',
    header: 'Categories',
    cell: ({ categories }) => <TenantText text={categories.join(', ')} />,
    width: '12rem',
  },
  {
    id: 'published',
    header: 'Published',
    cell: ({ publishedAt }) => <RelativeTime time={publishedAt} />,
    width: '8rem',
  },
];

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
          <CopyAsCurl operation="searchMarketplace" input={{ query }} />
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
  const { data, error, isPending, refetch } = useApi('getMarketplaceAgent', { params: { listingId } });
  if (isPending) return <LoadingState label="Loading the listing" rows={4} />;
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />;
  return <ListingFacts listing={data} />;
}
