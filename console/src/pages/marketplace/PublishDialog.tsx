import { Stack, Text } from '@mantine/core';
import type { Listing } from '../../api/generated.ts';
import { useAction } from '../../api/queries.ts';
import { CopyAsCurl } from '../../components/CopyAsCurl.tsx';
import { FormDialog } from '../../components/FormDialog.tsx';
import { showDone } from '../../components/notices.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { publicFactsOf } from './listing.ts';
import classes from './Marketplace.module.css';

export interface PublishDialogProps {
  readonly listing: Listing;
  readonly opened: boolean;
  readonly onClose: () => void;
}

/** Asks before a listing is shown to everyone. */
export function PublishDialog({ listing, opened, onClose }: PublishDialogProps) {
  const update = useAction('updateListing', { refreshes: ['/marketplace'] });
  const input = { params: { listingId: listing.listingId }, body: { status: 'published' } } as const;
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title="Publish to everyone?"
      submitLabel="Publish to everyone"
      confirms
      size="lg"
      initialValues={{}}
      onSubmit={async () => {
        await update.mutateAsync(input);
        showDone('The listing is on show');
      }}
      extra={() => <CopyAsCurl operation="updateListing" input={input} />}
    >
      {() => (
        <Stack gap="sm">
          <Text size="sm">
            Everyone can find the listing, also without an account, and search engines and other services may
            keep a copy. To show it to your own organization only, choose that under "Edit".
          </Text>
          <PublicFacts listing={listing} />
        </Stack>
      )}
    </FormDialog>
  );
}

/** What becomes public with a listing. */
export function PublicFacts({ listing }: { readonly listing: Listing }) {
  return (
    <section aria-label="This becomes public">
      <Text size="sm" fw={600} mb={4}>
        This becomes public
      </Text>
      <dl className={classes.facts}>
        {publicFactsOf(listing).map(([name, text]) => (
          <div key={name} className={classes.fact}>
            <dt>{name}</dt>
            <dd>
              <TenantText text={text} multiline />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
