import { Text, Title } from '@mantine/core';
import type { Listing } from '../../api/generated.ts';
import { TenantText } from '../../components/TenantText.tsx';
import classes from './Marketplace.module.css';

/** The texts of a listing, set apart from the console's own: they may imitate a statement of ours. Markdown is shown as it was written. */
export function StatedText({ listing }: { readonly listing: Listing }) {
  return (
    <figure className={classes.stated}>
      <figcaption>
        Text by <TenantText text={listing.organizationName} />. It is not checked by this instance.
      </figcaption>
      <blockquote>
        <Title order={3} fz="sm">
          <TenantText text={listing.title} multiline />
        </Title>
        <Text size="sm" component="div">
          <TenantText text={listing.summary} multiline />
        </Text>
        {listing.description && (
          <Text size="sm" component="div">
            <TenantText text={listing.description} multiline />
          </Text>
        )}
      </blockquote>
    </figure>
  );
}
