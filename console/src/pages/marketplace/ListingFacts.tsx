import { Group, Stack, Text } from '@mantine/core';
import type { Listing } from '../../api/generated.ts';
import { CopyButton } from '../../components/CopyButton.tsx';
import { ExternalLink } from '../../components/ExternalLink.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { pricingModels, visibilities } from './listing.ts';
import classes from './Marketplace.module.css';
import { VerifiedBadge } from './VerifiedBadge.tsx';

const labelOf = (options: readonly { value: string; label: string }[], value: string): string =>
  options.find((option) => option.value === value)?.label ?? value;

/** All of a listing. Its texts come from a tenant: Markdown is shown as it was written, never as markup. */
export function ListingFacts({ listing }: { readonly listing: Listing }) {
  const { pricing, endpoints, documentationUrl } = listing;
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <StatusBadge status={listing.status} />
        <VerifiedBadge verified={listing.verified} />
      </Group>
      <Text size="sm" component="div">
        <TenantText text={listing.summary} multiline />
      </Text>
      {listing.description && (
        <Text size="sm" component="div">
          <TenantText text={listing.description} multiline />
        </Text>
      )}
      <dl className={classes.facts}>
        <dt>Type</dt>
        <dd>
          {listing.agentType}, version <TenantText text={listing.version} />
        </dd>
        <dt>Capabilities</dt>
        <dd>
          <TenantText text={listing.capabilities.join(', ')} multiline />
        </dd>
        <dt>Categories</dt>
        <dd>
          <TenantText text={listing.categories.join(', ')} />
        </dd>
        <dt>Tags</dt>
        <dd>
          <TenantText text={listing.tags.join(', ')} />
        </dd>
        <dt>Endpoints</dt>
        <dd>
          {endpoints.length === 0 && '–'}
          {endpoints.map(({ protocol, url }) => (
            <div key={`${protocol} ${url}`}>
              {protocol} <ExternalLink href={url} />
            </div>
          ))}
        </dd>
        <dt>Documentation</dt>
        <dd>{documentationUrl ? <ExternalLink href={documentationUrl} /> : '–'}</dd>
        <dt>Price</dt>
        <dd>
          {labelOf(pricingModels, pricing.model)} {pricing.url && <ExternalLink href={pricing.url} />}
        </dd>
        <dt>Visible to</dt>
        <dd>{labelOf(visibilities, listing.visibility)}</dd>
        <dt>Published</dt>
        <dd>
          <RelativeTime time={listing.publishedAt} />
        </dd>
        <dt>DID</dt>
        <dd>
          <code className={classes.did}>{listing.did}</code>
        </dd>
      </dl>
      <Group gap="xs">
        <CopyButton text={listing.did} label="Copy DID" />
        <CopyButton text={listing.cardUrl} label="Copy URL of the card" />
      </Group>
      <Text size="xs" c="dimmed">
        Verified means: the agent is active, and its identity documents verify with the key of this instance.
        The texts above are statements of the organization and are not checked.
      </Text>
    </Stack>
  );
}
