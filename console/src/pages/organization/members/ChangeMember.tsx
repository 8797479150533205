import { Text } from '@mantine/core';
import type { Membership } from '../../../api/generated.ts';
import { AgentName } from '../../../components/AgentName.tsx';
import type { DialogProps } from '../../../components/FormDialog.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { memberRoles, RoleField } from '../RoleField.tsx';

interface Values extends Record<string, unknown> {
  role: 'member' | 'admin';
}

export function ChangeMember({ member, opened, onClose }: DialogProps & { readonly member: Membership }) {
  const { organizationId, agentId, role } = member;
  const inputOf = (values: Values) => ({
    params: { orgId: organizationId, agentId },
    body: { role: values.role },
  });
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title="Change the role"
      submitLabel="Save role"
      initialValues={{ role }}
      operation="updateMember"
      inputOf={inputOf}
      refreshes={['/organizations']}
      doneMessage="Role saved. It takes effect on the next request of the agent."
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
