import { TextInput } from '@mantine/core';
import type { Organization } from '../../api/generated.ts';
import { useAction } from '../../api/queries.ts';
import { CopyAsCurl } from '../../components/CopyAsCurl.tsx';
import { FormDialog } from '../../components/FormDialog.tsx';
import { useFrozen } from '../../components/frozen.ts';
import { showDone } from '../../components/notices.tsx';

export function RenameOrganization({
  organization: current,
  opened,
  onClose,
}: {
  readonly organization: Organization;
  readonly opened: boolean;
  readonly onClose: () => void;
}) {
  const organization = useFrozen(current, opened ? 'rename' : undefined);
  const update = useAction('updateOrganization', { refreshes: ['/organizations'] });
  const inputOf = (name: string) => ({ params: { orgId: organization.organizationId }, body: { name } });
  return (
    <FormDialog
      key={organization.updatedAt}
      opened={opened}
      onClose={onClose}
      title="Rename the organization"
      submitLabel="Save name"
      initialValues={{ name: organization.name }}
      validate={({ name }): { name?: string } => (name.trim() === '' ? { name: 'Enter a name' } : {})}
      onSubmit={async ({ name }) => {
        await update.mutateAsync(inputOf(name));
        showDone('Name saved.');
      }}
      extra={({ name }) => <CopyAsCurl operation="updateOrganization" input={inputOf(name)} />}
    >
      {(form) => (
        <TextInput label="Name" required maxLength={255} data-autofocus {...form.getInputProps('name')} />
      )}
    </FormDialog>
  );
}
