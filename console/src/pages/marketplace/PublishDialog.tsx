import { Stack, Text } from '@mantine/core';
import type { Listing } from '../../api/generated.ts';
import { Facts } from '../../components/Facts.tsx';
import type { DialogProps } from '../../components/FormDialog.tsx';
import { FormDialog } from '../../components/FormDialog.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { publicFactsOf } from './listing.ts';

interface PublishDialogProps extends DialogProps {
  readonly listing: Listing;
}

/** Asks before a listing is shown to everyone. */
export function PublishDialog({ listing, opened, onClose }: PublishDialogProps) {
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title="Publish to everyone?"
      submitLabel="Publish to everyone"
      confirms
      size="lg"
      initialValues={{}}
      operation="updateListing"
      inputOf={() => ({ params: { listingId: listing.listingId }, body: { status: 'published' as const } })}
      refreshes={['/marketplace']}
      doneMessage="The listing is on show"
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
  const facts = publicFactsOf(listing).map(([name, text]) => [
    name,
    <TenantText key={name} text={text} multiline />,
  ]);
  return (
    <section aria-label="This becomes public">
      <Text size="sm" fw={600} mb={4}>
        This becomes public
      </Text>
      <Facts facts={Object.fromEntries(facts)} />
    </section>
  );
}
