import { TextInput } from '@mantine/core';
import type { NewPerson } from '../../../api/generated.ts';
import { useAction } from '../../../api/queries.ts';
import { AgentSelect } from '../../../components/AgentSelect.tsx';
import { CopyAsCurl } from '../../../components/CopyAsCurl.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { showDone } from '../../../components/notices.tsx';
import { RoleField } from '../RoleField.tsx';
import { personRoles } from './person-roles.ts';

type Values = NewPerson & Record<string, unknown>;

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

export function InvitePerson({
  organizationId,
  issuer,
  opened,
  onClose,
}: {
  readonly organizationId: string;
  /** Of the provider that is set up. */
  readonly issuer: string;
  readonly opened: boolean;
  readonly onClose: () => void;
}) {
  const invite = useAction('invitePerson', { refreshes: ['/organizations'] });
  const inputOf = ({ name, subject, role, agentId, ...values }: Values) => ({
    params: { orgId: organizationId },
    body: { issuer: values.issuer.trim(), subject: subject.trim(), name, role, agentId },
  });
  return (
    <FormDialog<Values>
      opened={opened}
      onClose={onClose}
      title="Invite a person"
      submitLabel="Invite person"
      initialValues={{ name: '', issuer, subject: '', role: 'viewer', agentId: '' }}
      validate={problemsOf}
      onSubmit={async (values) => {
        await invite.mutateAsync(inputOf(values));
        showDone('Person invited. Tell them to sign in.');
      }}
      extra={(values) => <CopyAsCurl operation="invitePerson" input={inputOf(values)} />}
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
