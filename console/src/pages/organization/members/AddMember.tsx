import { useAction } from '../../../api/queries.ts';
import { AgentSelect } from '../../../components/AgentSelect.tsx';
import { CopyAsCurl } from '../../../components/CopyAsCurl.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { showDone } from '../../../components/notices.tsx';
import { RoleField } from '../RoleField.tsx';
import { memberRoles } from './member-roles.ts';

interface Values extends Record<string, unknown> {
  agentId: string;
  role: 'member' | 'admin';
}

export function AddMember({
  organizationId,
  opened,
  onClose,
}: {
  readonly organizationId: string;
  readonly opened: boolean;
  readonly onClose: () => void;
}) {
  const add = useAction('addMember', { refreshes: ['/organizations'] });
  const inputOf = ({ agentId, role }: Values) => ({
    params: { orgId: organizationId },
    body: { agentId, role },
  });
  return (
    <FormDialog<Values>
      opened={opened}
      onClose={onClose}
      title="Add a member"
      submitLabel="Add member"
      initialValues={{ agentId: '', role: 'member' }}
      validate={({ agentId }) => (agentId === '' ? { agentId: 'Choose an agent' } : {})}
      onSubmit={async (values) => {
        await add.mutateAsync(inputOf(values));
        showDone('Member added.');
      }}
      extra={(values) => <CopyAsCurl operation="addMember" input={inputOf(values)} />}
    >
      {(form) => (
        <>
          <AgentSelect
            organizationId={organizationId}
            required
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
