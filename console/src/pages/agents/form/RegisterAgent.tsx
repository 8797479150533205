import { TextInput } from '@mantine/core';
import { useRef } from 'react';
import { useGoTo } from '../../../app/navigation.tsx';
import { useSession } from '../../../app/session-context.tsx';
import type { DialogProps } from '../../../components/FormDialog.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { FormSection } from '../../../components/FormSection.tsx';
import { AgentFields } from './AgentFields.tsx';
import {
  grantableScopes,
  newAgentValues,
  operatorScope,
  problemsOf,
  requiredOf,
  toNewAgent,
} from './agent-form.ts';

/** Registers an agent and goes to its page, where the next step is a credential. */
export function RegisterAgent({ opened, onClose }: DialogProps) {
  const { organizationId, scopes, multiTenant } = useSession();
  const goTo = useGoTo();
  const registered = useRef<string>(undefined);
  // Closing changes the URL of the list, and going to the agent must be the only change of the URL.
  const close = () => {
    const agentId = registered.current;
    registered.current = undefined;
    if (agentId === undefined) onClose();
    else goTo({ to: '/agents/$agentId', params: { agentId }, search: { tab: 'credentials' }, replace: true });
  };
  return (
    <FormDialog
      opened={opened}
      onClose={close}
      title="Register an agent"
      submitLabel="Register agent"
      size="lg"
      initialValues={newAgentValues(organizationId)}
      required={requiredOf(false)}
      validate={problemsOf}
      operation="createAgent"
      inputOf={(values) => ({ body: toNewAgent(values) })}
      refreshes={['/agents', '/overview']}
      doneMessage="Agent registered. Its next step is a credential."
      onDone={({ agentId }) => {
        registered.current = agentId;
      }}
    >
      {(form) => (
        <>
          <TextInput
            label="E-mail address"
            description="The name of the agent. It is unique on this server and cannot change later."
            placeholder="screener@example.com"
            type="email"
            data-autofocus
            {...form.getInputProps('email')}
          />
          <AgentFields form={form} grantable={grantableScopes(scopes)} />
          {multiTenant && scopes.includes(operatorScope) && (
            <FormSection
              title="Organization"
              summary={form.values.organization_id === organizationId ? 'yours' : 'another'}
            >
              <TextInput
                label="Organization id"
                description="Your own unless you change it: operators register agents for every organization."
                {...form.getInputProps('organization_id')}
              />
            </FormSection>
          )}
        </>
      )}
    </FormDialog>
  );
}
