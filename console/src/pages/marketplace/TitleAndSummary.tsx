import { Text } from '@mantine/core';
import type { Listing } from '../../api/generated.ts';
import { TenantText } from '../../components/TenantText.tsx';
import classes from './Marketplace.module.css';

export const TitleAndSummary = ({ listing }: { readonly listing: Listing }) => (
  <div className={classes.cell}>
    <Text fw={600} size="sm" component="div">
      <TenantText text={listing.title} />
    </Text>
    <Text size="xs" c="dimmed" component="div">
      <TenantText text={listing.summary} />
    </Text>
  </div>
);
