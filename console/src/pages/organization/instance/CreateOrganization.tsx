import { Select, TextInput } from '@mantine/core';
import { useAction } from '../../../api/queries.ts';
import { useGoTo } from '../../../app/navigation.tsx';
import { CopyAsCurl } from '../../../components/CopyAsCurl.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { showDone } from '../../../components/notices.tsx';
import { type PlanTier, planTiers } from './plan-tiers.ts';

interface Values extends Record<string, unknown> {
  name: string;
  slug: string;
  planTier: PlanTier;
}

export function CreateOrganization({
  opened,
  onClose,
}: {
  readonly opened: boolean;
  readonly onClose: () => void;
}) {
  const create = useAction('createOrganization', { refreshes: ['/organizations'] });
  const goTo = useGoTo();
  const inputOf = ({ name, slug, planTier }: Values) => ({ body: { name, slug, planTier } });
  return (
    <FormDialog<Values>
      opened={opened}
      onClose={onClose}
      title="Create an organization"
      submitLabel="Create organization"
      initialValues={{ name: '', slug: '', planTier: 'free' }}
      validate={({ name, slug }) => ({
        ...(name.trim() === '' && { name: 'Enter a name' }),
        ...(!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(slug) && {
          slug: 'Enter lowercase letters, digits and hyphens, such as talent-team',
        }),
      })}
      onSubmit={async (values) => {
        const { organizationId } = await create.mutateAsync(inputOf(values));
        showDone('Organization created. Its next step is an agent.');
        goTo({ to: '/organization', search: { id: organizationId } });
      }}
      extra={(values) => <CopyAsCurl operation="createOrganization" input={inputOf(values)} />}
    >
      {(form) => (
        <>
          <TextInput label="Name" required maxLength={255} data-autofocus {...form.getInputProps('name')} />
          <TextInput
            label="Short name"
            description="For addresses. It is unique on this instance and cannot be changed."
            required
            maxLength={63}
            spellCheck={false}
            {...form.getInputProps('slug')}
          />
          <Select
            label="Plan"
            data={[...planTiers]}
            allowDeselect={false}
            {...form.getInputProps('planTier')}
          />
        </>
      )}
    </FormDialog>
  );
}
