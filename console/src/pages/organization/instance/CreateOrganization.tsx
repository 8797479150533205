import { Select, TextInput } from '@mantine/core';
import type { PlanTier } from '../../../api/generated.ts';
import { planTiers } from '../../../api/generated.ts';
import { useGoTo } from '../../../app/navigation.tsx';
import type { DialogProps } from '../../../components/FormDialog.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';

interface Values extends Record<string, unknown> {
  name: string;
  slug: string;
  planTier: PlanTier;
}

export function CreateOrganization({ opened, onClose }: DialogProps) {
  const goTo = useGoTo();
  const inputOf = ({ name, slug, planTier }: Values) => ({ body: { name, slug, planTier } });
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title="Create an organization"
      submitLabel="Create organization"
      initialValues={{ name: '', slug: '', planTier: 'free' }}
      required={{ name: 'Enter a name', slug: 'Enter a short name, such as talent-team' }}
      validate={({ slug }) => ({
        ...(!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(slug) && {
          slug: 'Enter lowercase letters, digits and hyphens, such as talent-team',
        }),
      })}
      operation="createOrganization"
      inputOf={inputOf}
      refreshes={['/organizations']}
      doneMessage="Organization created. Its next step is an agent."
      onDone={({ organizationId }) => goTo({ to: '/organization', search: { id: organizationId } })}
    >
      {(form) => (
        <>
          <TextInput label="Name" maxLength={255} data-autofocus {...form.getInputProps('name')} />
          <TextInput
            label="Short name"
            description="For addresses. It is unique on this instance and cannot be changed."
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
