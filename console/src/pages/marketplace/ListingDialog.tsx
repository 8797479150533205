import { Checkbox, Select, Stack, TagsInput, Textarea, TextInput } from '@mantine/core';
import type { Listing } from '../../api/generated.ts';
import { AgentSelect } from '../../components/AgentSelect.tsx';
import type { DialogProps } from '../../components/FormDialog.tsx';
import { FormDialog } from '../../components/FormDialog.tsx';
import { useFrozen } from '../../components/frozen.ts';
import {
  changeOf,
  formOf,
  newListingOf,
  opensToEveryone,
  pricingModels,
  problemsOf,
  required,
  visibilities,
} from './listing.ts';
import { PublicFacts } from './PublishDialog.tsx';

interface ListingDialogProps extends DialogProps {
  /** Undefined: a new one. */
  readonly listing: Listing | undefined;
  readonly onSaved: (listing: Listing) => void;
}

/** Creates a listing as a draft, or changes one. */
export function ListingDialog({ opened, onClose, listing: current, onSaved }: ListingDialogProps) {
  const listing = useFrozen(current, opened ? 'listing' : undefined);
  return (
    <FormDialog
      key={listing ? `${listing.listingId} ${listing.updatedAt}` : 'new'}
      opened={opened}
      onClose={onClose}
      title={listing ? 'Change the listing' : 'List an agent'}
      submitLabel={listing ? 'Save listing' : 'Create draft'}
      size="lg"
      initialValues={formOf(listing)}
      required={required}
      validate={(form) => problemsOf(form, listing)}
      operation={listing ? 'updateListing' : 'createListing'}
      inputOf={(form) =>
        listing
          ? { params: { listingId: listing.listingId }, body: changeOf(form) }
          : { body: newListingOf(form) }
      }
      refreshes={['/marketplace']}
      onDone={onSaved}
    >
      {(form) => (
        <Stack gap="sm">
          {!listing && <AgentSelect label="Agent" data-autofocus {...form.getInputProps('agentId')} />}
          <TextInput label="Title" maxLength={120} {...form.getInputProps('title')} />
          <TextInput label="Summary" maxLength={280} {...form.getInputProps('summary')} />
          <Textarea
            label="Description"
            description="Markdown, at most 8 KB. The console shows it as text."
            maxLength={8_192}
            maxRows={12}
            {...form.getInputProps('description')}
          />
          <TagsInput
            label="Categories"
            description="Lower-case letters, digits and hyphens; at most 5"
            maxTags={5}
            {...form.getInputProps('categories')}
          />
          <TagsInput
            label="Tags"
            description="Lower-case letters, digits and hyphens; at most 20"
            maxTags={20}
            {...form.getInputProps('tags')}
          />
          <Textarea
            label="Endpoints"
            description="One in a line: a2a, mcp or http, and an https:// URL"
            placeholder="a2a https://agent.example.com/a2a"
            {...form.getInputProps('endpoints')}
          />
          <TextInput
            label="Documentation"
            placeholder="https://"
            maxLength={2_048}
            {...form.getInputProps('documentationUrl')}
          />
          <Select
            label="Price"
            data={pricingModels}
            allowDeselect={false}
            {...form.getInputProps('pricing')}
          />
          {form.values.pricing !== 'free' && (
            <TextInput
              label="Page about the price"
              placeholder="https://"
              maxLength={2_048}
              {...form.getInputProps('pricingUrl')}
            />
          )}
          <Select
            label="Visible to"
            data={visibilities}
            allowDeselect={false}
            {...form.getInputProps('visibility')}
          />
          {listing && opensToEveryone(listing, form.values) && (
            <>
              <PublicFacts listing={{ ...listing, ...changeOf(form.values) } as Listing} />
              <Checkbox
                label="Everyone may see this, also without an account"
                {...form.getInputProps('becomesPublic', { type: 'checkbox' })}
              />
            </>
          )}
        </Stack>
      )}
    </FormDialog>
  );
}
