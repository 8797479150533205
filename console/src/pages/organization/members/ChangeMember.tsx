import { Text } from '@mantine/core';
import type { Membership } from '../../../api/generated.ts';
import { useAction } from '../../../api/queries.ts';
import { AgentName } from '../../../components/AgentName.tsx';
import { CopyAsCurl } from '../../../components/CopyAsCurl.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { showDone } from '../../../components/notices.tsx';
import { RoleField } from '../RoleField.tsx';
import { memberRoles } from './member-roles.ts';

interface Values extends Record<string, unknown> {
  role: 'member' | 'admin';
}

export function ChangeMember({
  member: { organizationId, agentId, role },
  opened,
  onClose,
}: {
  readonly member: Membership;
  readonly opened: boolean;
  readonly onClose: () => void;
}) {
  const update = useAction('updateMember', { refreshes: ['/organizations'] });
  const inputOf = (values: Values) => ({
    params: { orgId: organizationId, agentId },
    body: { role: values.role },
  });
  return (
    <FormDialog<Values>
      opened={opened}
      onClose={onClose}
      title="Change the role"
      submitLabel="Save role"
      initialValues={{ role }}
      onSubmit={async (values) => {
        await update.mutateAsync(inputOf(values));
        showDone('Role saved. It takes effect on the next request of the agent.');
      }}
      extra={(values) => <CopyAsCurl operation="updateMember" input={inputOf(values)} />}
    >
      {(form) => (
        <>
          <Text size="sm" component="div">
            Agent: <AgentName agentId={agentId} link={false} />
          </Text>
          <RoleField roles={memberRoles} {...form.getInputProps('role')} />
        </>
      )}
    </FormDialog>
  );
}
