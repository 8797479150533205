import { Group, Stack, Text } from '@mantine/core';
import type { Listing } from '../../api/generated.ts';
import { CopyButton } from '../../components/CopyButton.tsx';
import { ExternalLink } from '../../components/ExternalLink.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { pricingModels, visibilities } from './listing.ts';
import classes from './Marketplace.module.css';
import { Publisher } from './Publisher.tsx';
import { StatedText } from './StatedText.tsx';
import { VerifiedBadge } from './VerifiedBadge.tsx';

const labelOf = (options: readonly { value: string; label: string }[], value: string): string =>
  options.find((option) => option.value === value)?.label ?? value;

/** All of a listing: first the publisher and our own statements, then the facts, last the texts of the tenant. */
export function ListingFacts({ listing }: { readonly listing: Listing }) {
  const { pricing, endpoints, documentationUrl } = listing;
  return (
    <Stack gap="sm">
      <dl className={classes.facts}>
        <dt>Published by</dt>
        <dd>
          <Publisher listing={listing} />
        </dd>
        <dt>Identity</dt>
        <dd>
          <VerifiedBadge verified={listing.verified} />
        </dd>
        <dt>Status</dt>
        <dd>
          <StatusBadge status={listing.status} />
        </dd>
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
        It says nothing about the organization.
      </Text>
      <StatedText listing={listing} />
    </Stack>
  );
}
