import { TextInput } from '@mantine/core';
import type { NewPerson } from '../../../api/generated.ts';
import { AgentSelect } from '../../../components/AgentSelect.tsx';
import type { DialogProps } from '../../../components/FormDialog.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { personRoles, RoleField } from '../RoleField.tsx';

type Values = NewPerson & { issuer: string; subject: string } & Record<string, unknown>;

const requiredFields = {
  name: 'Enter a name',
  issuer: 'Enter the issuer of the provider',
  subject: 'Enter the subject',
  agentId: 'Choose an agent',
} as const;

const problemsOf = (values: Values) =>
  Object.fromEntries(
    Object.entries(requiredFields).filter(([field]) => String(values[field]).trim() === ''),
  ) as Partial<Record<keyof Values, string>>;

interface InvitePersonProps extends DialogProps {
  readonly organizationId: string;
  /** Of the provider that is set up. */
  readonly issuer: string;
}

export function InvitePerson({ organizationId, issuer, opened, onClose }: InvitePersonProps) {
  const inputOf = ({ name, subject, role, agentId, ...values }: Values) => ({
    params: { orgId: organizationId },
    body: { issuer: values.issuer.trim(), subject: subject.trim(), name, role, agentId },
  });
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title="Invite a person"
      submitLabel="Invite person"
      initialValues={{ name: '', issuer, subject: '', role: 'viewer', agentId: '' }}
      validate={problemsOf}
      operation="invitePerson"
      inputOf={inputOf}
      refreshes={['/organizations']}
      doneMessage="Person invited. Tell them to sign in."
    >
      {(form) => (
        <>
          <TextInput
            label="Name"
            description="The audit log shows it beside the actions of this person."
            required
            maxLength={100}
            data-autofocus
            {...form.getInputProps('name')}
          />
          <TextInput
            label="Issuer"
            description="The address of the OpenID provider."
            required
            maxLength={1_024}
            spellCheck={false}
            {...form.getInputProps('issuer')}
          />
          <TextInput
            label="Subject"
            description="Who the person is at the provider (sub), not an e-mail address. A person without an invitation sees it on the sign-in page after trying to sign in."
            required
            maxLength={255}
            spellCheck={false}
            {...form.getInputProps('subject')}
          />
          <RoleField roles={personRoles} {...form.getInputProps('role')} />
          <AgentSelect
            organizationId={organizationId}
            required
            label="Acts through"
            description="The person has the scopes of this agent. You need all of them yourself."
            {...form.getInputProps('agentId')}
          />
        </>
      )}
    </FormDialog>
  );
}
