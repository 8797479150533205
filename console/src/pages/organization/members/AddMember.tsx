import { AgentSelect } from '../../../components/AgentSelect.tsx';
import type { DialogProps } from '../../../components/FormDialog.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { memberRoles, RoleField } from '../RoleField.tsx';

interface Values extends Record<string, unknown> {
  agentId: string;
  role: 'member' | 'admin';
}

export function AddMember({
  organizationId,
  opened,
  onClose,
}: DialogProps & { readonly organizationId: string }) {
  const inputOf = ({ agentId, role }: Values) => ({
    params: { orgId: organizationId },
    body: { agentId, role },
  });
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title="Add a member"
      submitLabel="Add member"
      initialValues={{ agentId: '', role: 'member' }}
      required={{ agentId: 'Choose an agent' }}
      operation="addMember"
      inputOf={inputOf}
      refreshes={['/organizations']}
      doneMessage="Member added."
    >
      {(form) => (
        <>
          <AgentSelect
            organizationId={organizationId}
            label="Agent"
            description="An agent of this organization."
            data-autofocus
            {...form.getInputProps('agentId')}
          />
          <RoleField roles={memberRoles} {...form.getInputProps('role')} />
        </>
      )}
    </FormDialog>
  );
}
