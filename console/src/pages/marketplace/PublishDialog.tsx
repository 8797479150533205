import { Stack, Text } from '@mantine/core';
import { useAgentById } from '../../api/agent-names.ts';
import type { Listing } from '../../api/generated.ts';
import { Facts } from '../../components/Facts.tsx';
import type { DialogProps } from '../../components/FormDialog.tsx';
import { FormDialog } from '../../components/FormDialog.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { cardFactsOf, publicFactsOf } from './listing.ts';

interface PublishDialogProps extends DialogProps {
  readonly listing: Listing;
}

const audiences = {
  public: {
    title: 'Publish to everyone?',
    submitLabel: 'Publish to everyone',
    text: 'Everyone can find the listing, also without an account, and search engines and other services may keep a copy. To show it to your own organization only, choose that under "Edit".',
  },
  organization: {
    title: 'Publish to your organization?',
    submitLabel: 'Publish to your organization',
    text: 'Agents and people of your organization find the listing on the marketplace. Nobody else does.',
  },
} as const;

/** Asks before a listing is put on show, and shows what others then see. */
export function PublishDialog({ listing, opened, onClose }: PublishDialogProps) {
  const { title, submitLabel, text } = audiences[listing.visibility];
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title={title}
      submitLabel={submitLabel}
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
          <Text size="sm">{text}</Text>
          <PublicFacts
            listing={listing}
            title={listing.visibility === 'public' ? 'This becomes public' : 'This becomes visible'}
          />
        </Stack>
      )}
    </FormDialog>
  );
}

interface PublicFactsProps {
  readonly listing: Listing;
  readonly title?: string;
}

/** What becomes public with a listing: its texts, and those of the agent's card, to which it leads. */
export function PublicFacts({ listing, title = 'This becomes public' }: PublicFactsProps) {
  const agent = useAgentById(listing.agentId);
  const facts = [...publicFactsOf(listing), ...(agent ? cardFactsOf(agent) : [])].map(([name, text]) => [
    name,
    <TenantText key={name} text={text} multiline />,
  ]);
  return (
    <section aria-label={title}>
      <Text size="sm" fw={600} mb={4}>
        {title}
      </Text>
      <Facts facts={Object.fromEntries(facts)} />
    </section>
  );
}
