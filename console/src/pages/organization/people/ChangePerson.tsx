import { Text, TextInput } from '@mantine/core';
import type { Person } from '../../../api/generated.ts';
import { AgentSelect } from '../../../components/AgentSelect.tsx';
import type { DialogProps } from '../../../components/FormDialog.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { personRoles, RoleField } from '../RoleField.tsx';

interface Values extends Record<string, unknown> {
  name: string;
  role: Person['role'];
  /** Empty for a member, who acts through no agent. */
  agentId: string;
}

export function ChangePerson({ person, opened, onClose }: DialogProps & { readonly person: Person }) {
  const { organizationId, personId, name, role, agentId } = person;
  /** Only the changed fields: a role or agent that stays needs no right to give it. */
  const inputOf = (values: Values) => {
    const wanted = values.role === 'member' ? null : values.agentId;
    return {
      params: { orgId: organizationId, personId },
      body: {
        ...(values.name !== name && { name: values.name }),
        ...(values.role !== role && { role: values.role }),
        ...(wanted !== agentId && { agentId: wanted }),
      },
    };
  };
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title="Change a person"
      submitLabel="Save changes"
      initialValues={{ name, role, agentId: agentId ?? '' } as Values}
      required={(values) => ({
        name: 'Enter a name',
        ...(values.role !== 'member' && { agentId: 'Choose an agent' }),
      })}
      operation="updatePerson"
      inputOf={inputOf}
      refreshes={['/organizations']}
      doneMessage="Changes saved."
    >
      {(form) => (
        <>
          <TextInput label="Name" maxLength={100} data-autofocus {...form.getInputProps('name')} />
          <RoleField roles={personRoles} {...form.getInputProps('role')} />
          {form.values.role !== 'member' && (
            <AgentSelect
              organizationId={organizationId}
              label="Acts through"
              description="The person has the scopes of this agent. You need all of them yourself."
              {...form.getInputProps('agentId')}
            />
          )}
          <Text size="sm" c="dimmed">
            Another role or agent ends the sessions of this person: they sign in again.
          </Text>
        </>
      )}
    </FormDialog>
  );
}
