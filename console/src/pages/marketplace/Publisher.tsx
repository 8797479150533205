import { Text } from '@mantine/core';
import type { Listing } from '../../api/generated.ts';
import { TenantText } from '../../components/TenantText.tsx';
import classes from './Marketplace.module.css';

/** The organization that publishes a listing. Its name may be that of another one; its slug is unique. */
export const Publisher = ({ listing }: { readonly listing: Listing }) => (
  <div className={classes.publisher}>
    <Text size="sm" component="div">
      <TenantText text={listing.organizationName} />
    </Text>
    <Text size="xs" c="dimmed" component="div">
      <code>
        <TenantText text={listing.organizationSlug} />
      </code>
    </Text>
  </div>
);
