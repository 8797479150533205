import { Group, Stack, Text, Title } from '@mantine/core';
import type { Listing } from '../../api/generated.ts';
import { CopyButton } from '../../components/CopyButton.tsx';
import { ExternalLink } from '../../components/ExternalLink.tsx';
import { Facts } from '../../components/Facts.tsx';
import { RelativeTime } from '../../components/RelativeTime.tsx';
import { StatusBadge } from '../../components/StatusBadge.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { pricingModels, visibilities } from './listing.ts';
import classes from './Marketplace.module.css';

const labelOf = (options: readonly { value: string; label: string }[], value: string): string =>
  options.find((option) => option.value === value)?.label ?? value;

/** All of a listing: first the publisher and our own statements, then the facts, last the texts of the tenant. */
export function ListingFacts({ listing }: { readonly listing: Listing }) {
  const { pricing, endpoints, documentationUrl } = listing;
  return (
    <Stack gap="sm">
      <Facts
        facts={{
          'Published by': <Publisher listing={listing} />,
          Identity: <VerifiedBadge verified={listing.verified} />,
          Status: <StatusBadge status={listing.status} />,
          Type: (
            <>
              {listing.agentType}, version <TenantText text={listing.version} />
            </>
          ),
          Capabilities: <TenantText text={listing.capabilities.join(', ')} multiline />,
          Categories: <TenantText text={listing.categories.join(', ')} />,
          Tags: <TenantText text={listing.tags.join(', ')} />,
          Endpoints:
            endpoints.length === 0
              ? '–'
              : endpoints.map(({ protocol, url }) => (
                  <div key={`${protocol} ${url}`}>
                    {protocol} <ExternalLink href={url} />
                  </div>
                )),
          Documentation: documentationUrl ? <ExternalLink href={documentationUrl} /> : '–',
          Price: (
            <>
              {labelOf(pricingModels, pricing.model)} {pricing.url && <ExternalLink href={pricing.url} />}
            </>
          ),
          'Visible to': labelOf(visibilities, listing.visibility),
          Published: <RelativeTime time={listing.publishedAt} />,
          DID: <code>{listing.did}</code>,
        }}
      />
      <Group gap="xs">
        <CopyButton text={listing.did} label="Copy DID" />
        <CopyButton text={listing.cardUrl} label="Copy URL of the card" />
      </Group>
      <Text size="xs" c="dimmed">
        Verified means: the agent is active, and its identity documents verify with the key of this instance.
        It says nothing about the organization.
      </Text>
      <ListingText listing={listing} />
    </Stack>
  );
}

/** The texts of a listing, set apart from the console's own: they may imitate a statement of ours. Markdown is shown as it was written. */
function ListingText({ listing }: { readonly listing: Listing }) {
  return (
    <figure className={classes.text}>
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

/** The organization that publishes a listing. Its name may be that of another one; its short name is unique. */
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

/** Verified: the agent is active, its DID document is well formed, and its badge verifies with the key of the instance. */
export const VerifiedBadge = ({ verified }: { readonly verified: boolean }) => (
  <StatusBadge status={verified ? 'verified' : 'draft'} label={verified ? 'verified' : 'not verified'} />
);

/** Names the publisher: the title of a listing may imitate a statement of ours. */
export const ListingHeading = ({ listing }: { readonly listing: Listing | undefined }) =>
  listing ? (
    <>
      Listing by <TenantText text={listing.organizationName} />
    </>
  ) : (
    'Listing'
  );
