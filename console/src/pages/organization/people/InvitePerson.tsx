import { Select, TextInput } from '@mantine/core';
import type { Connection } from '../../../api/generated.ts';
import { AgentSelect } from '../../../components/AgentSelect.tsx';
import type { DialogProps } from '../../../components/FormDialog.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { visibleText } from '../../../components/TenantText.tsx';
import { personRoles, RoleField } from '../RoleField.tsx';
import { invitationOf, newInvitation, requiredOf } from './invitation.ts';

interface InvitePersonProps extends DialogProps {
  readonly organizationId: string;
  /** People are invited through one of these, by e-mail. Without any: by their identity at the instance's own provider. */
  readonly connections: readonly Connection[];
  /** Of the instance's own provider. */
  readonly issuer: string;
}

export function InvitePerson({ organizationId, connections, issuer, opened, onClose }: InvitePersonProps) {
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title="Invite a person"
      submitLabel="Invite person"
      initialValues={newInvitation(connections, issuer)}
      required={requiredOf}
      operation="invitePerson"
      inputOf={(values) => ({ params: { orgId: organizationId }, body: invitationOf(values) })}
      refreshes={['/organizations']}
      doneMessage="Person invited. Tell them to sign in."
    >
      {(form) => (
        <>
          <TextInput
            label="Name"
            description="The audit log shows it beside the actions of this person."
            maxLength={100}
            data-autofocus
            {...form.getInputProps('name')}
          />
          {connections.length > 0 ? (
            <>
              <TextInput
                label="E-mail"
                description="The invitation waits until a person with this address, verified by the provider, signs in through the connection."
                type="email"
                maxLength={254}
                spellCheck={false}
                {...form.getInputProps('email')}
              />
              <Select
                label="Connection"
                data={connections.map(({ connectionId, name }) => ({
                  value: connectionId,
                  label: visibleText(name),
                }))}
                allowDeselect={false}
                {...form.getInputProps('connectionId')}
              />
            </>
          ) : (
            <>
              <TextInput
                label="Issuer"
                description="The address of the OpenID provider."
                maxLength={1_024}
                spellCheck={false}
                {...form.getInputProps('issuer')}
              />
              <TextInput
                label="Subject"
                description="Who the person is at the provider (sub), not an e-mail address. A person without an invitation sees it on the sign-in page after trying to sign in."
                maxLength={255}
                spellCheck={false}
                {...form.getInputProps('subject')}
              />
            </>
          )}
          <RoleField roles={personRoles} {...form.getInputProps('role')} />
          {form.values.role !== 'member' && (
            <AgentSelect
              organizationId={organizationId}
              label="Acts through"
              description="The person has the scopes of this agent. You need all of them yourself."
              {...form.getInputProps('agentId')}
            />
          )}
        </>
      )}
    </FormDialog>
  );
}
