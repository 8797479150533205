import { TextInput } from '@mantine/core';
import type { Organization } from '../../api/generated.ts';
import type { DialogProps } from '../../components/FormDialog.tsx';
import { FormDialog } from '../../components/FormDialog.tsx';
import { useFrozen } from '../../components/frozen.ts';

interface RenameOrganizationProps extends DialogProps {
  readonly organization: Organization;
}

export function RenameOrganization({ organization: current, opened, onClose }: RenameOrganizationProps) {
  const organization = useFrozen(current, opened ? 'rename' : undefined);
  return (
    <FormDialog
      key={organization.updatedAt}
      opened={opened}
      onClose={onClose}
      title="Rename the organization"
      submitLabel="Save name"
      initialValues={{ name: organization.name }}
      required={{ name: 'Enter a name' }}
      operation="updateOrganization"
      inputOf={({ name }) => ({ params: { orgId: organization.organizationId }, body: { name } })}
      refreshes={['/organizations']}
      doneMessage="Name saved."
    >
      {(form) => <TextInput label="Name" maxLength={255} data-autofocus {...form.getInputProps('name')} />}
    </FormDialog>
  );
}
