import { Button, Group, Text } from '@mantine/core';
import { useState } from 'react';
import type { Listing } from '../../api/generated.ts';
import { useCan } from '../../app/session-context.tsx';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { CopyAs } from '../../components/CopyAs.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { ListingDialog } from './ListingDialog.tsx';
import { PublishDialog } from './PublishDialog.tsx';

interface ListingActionsProps {
  readonly listing: Listing;
  readonly onDeleted: () => void;
}

type Dialog = 'edit' | 'publish' | 'withdraw' | 'delete' | undefined;

/** Publish, withdraw, change, delete. */
export function ListingActions({ listing, onDeleted }: ListingActionsProps) {
  const can = useCan();
  const [dialog, setDialog] = useState<Dialog>();
  if (!can('agents:write')) return null;
  const params = { listingId: listing.listingId };
  const close = () => setDialog(undefined);
  const isOnShow = listing.status === 'published';
  return (
    <Group gap="xs" mb="sm">
      {(listing.status === 'draft' || listing.status === 'withdrawn') && (
        <Button onClick={() => setDialog('publish')}>Publish</Button>
      )}
      {isOnShow && (
        <Button variant="default" onClick={() => setDialog('withdraw')}>
          Withdraw
        </Button>
      )}
      <Button variant="default" onClick={() => setDialog('edit')}>
        Edit
      </Button>
      <Button variant="default" onClick={() => setDialog('delete')}>
        Delete
      </Button>
      {!isOnShow && <CopyAs operation="updateListing" input={{ params, body: { status: 'published' } }} />}
      <PublishDialog opened={dialog === 'publish'} onClose={close} listing={listing} />
      <ListingDialog opened={dialog === 'edit'} onClose={close} listing={listing} onSaved={close} />
      <ConfirmDialog
        opened={dialog === 'withdraw'}
        onClose={close}
        title="Withdraw this listing?"
        confirmLabel="Withdraw listing"
        operation="updateListing"
        input={{ params, body: { status: 'withdrawn' } }}
        refreshes={['/marketplace']}
        doneMessage="The listing is withdrawn"
      >
        <Name listing={listing} /> is no longer found on the marketplace. Its texts stay, and you can publish
        it again. The agent itself does not change.
      </ConfirmDialog>
      <ConfirmDialog
        opened={dialog === 'delete'}
        onClose={close}
        title="Delete this listing?"
        confirmLabel="Delete listing"
        operation="deleteListing"
        input={{ params }}
        refreshes={['/marketplace']}
        doneMessage="The listing is deleted"
        onDone={onDeleted}
      >
        <Name listing={listing} /> and its texts are deleted. The agent itself does not change, and it can be
        listed again.
      </ConfirmDialog>
    </Group>
  );
}

const Name = ({ listing }: { readonly listing: Listing }) => (
  <Text span fw={600} size="sm">
    <TenantText text={listing.title} />
  </Text>
);
