import type { Listing } from '../../api/generated.ts';
import { TenantText } from '../../components/TenantText.tsx';

/** Names the publisher: the title of a listing may imitate a statement of ours. */
export const ListingHeading = ({ listing }: { readonly listing: Listing | undefined }) =>
  listing ? (
    <>
      Listing by <TenantText text={listing.organizationName} />
    </>
  ) : (
    'Listing'
  );
