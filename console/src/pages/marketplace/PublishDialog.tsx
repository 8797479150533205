import { Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Listing } from '../../api/generated.ts';
import { useApi } from '../../api/queries.ts';
import { Facts } from '../../components/Facts.tsx';
import type { DialogProps } from '../../components/FormDialog.tsx';
import { FormDialog } from '../../components/FormDialog.tsx';
import { JsonView } from '../../components/JsonView.tsx';
import { QueryState } from '../../components/QueryState.tsx';
import { TenantText } from '../../components/TenantText.tsx';
import { publicFactsOf } from './listing.ts';

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
    text: 'Agents and people of your organization find the listing on the marketplace. No one else can see it.',
  },
} as const;

/** Asks before a listing is put on show, and shows what others then see. */
export function PublishDialog({ listing, opened, onClose }: PublishDialogProps) {
  const { title, submitLabel, text } = audiences[listing.visibility];
  const documents = usePublicDocuments(listing.agentId, opened);
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title={title}
      submitLabel={submitLabel}
      confirms
      ready={documents.data !== undefined}
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

/** The documents about the agent that everyone can read, and to which a listing leads. */
function usePublicDocuments(agentId: string, enabled = true) {
  const params = { agentId };
  const card = useApi('getAgentCard', { params }, { enabled });
  const did = useApi('getDid', { params }, { enabled });
  return {
    data: card.data && did.data && { card: card.data, did: did.data },
    error: card.error ?? did.error,
    refetch: () => Promise.all([card.refetch(), did.refetch()]),
  };
}

interface PublicFactsProps {
  readonly listing: Listing;
  readonly title?: string;
  /** Below the facts, as soon as all of them are there. */
  readonly children?: ReactNode;
}

/** All that becomes public with a listing: its texts, the agent's card and the agent's DID document. */
export function PublicFacts({ listing, title = 'This becomes public', children }: PublicFactsProps) {
  const documents = usePublicDocuments(listing.agentId);
  const facts = publicFactsOf(listing).map(([name, text]) => [
    name,
    <TenantText key={name} text={text} multiline />,
  ]);
  return (
    <section aria-label={title}>
      <Text size="sm" fw={600} mb={4}>
        {title}
      </Text>
      <Facts facts={Object.fromEntries(facts)} />
      <QueryState
        query={documents}
        label="Loading the agent's card"
        rows={3}
        errorTitle="The agent's card could not be loaded"
      >
        {({ card, did }) => (
          <Stack gap="xs" mt="sm">
            <Text size="sm">The listing leads to the agent's card and DID document:</Text>
            <JsonView value={card} label="Card" maxHeight={240} />
            <JsonView value={did} label="DID document" maxHeight={240} />
            {children}
          </Stack>
        )}
      </QueryState>
    </section>
  );
}
