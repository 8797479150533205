import { Text } from '@mantine/core';
import { useState } from 'react';
import type { Agent } from '../../../api/generated.ts';
import { useSession } from '../../../app/session-context.tsx';
import type { DialogProps } from '../../../components/FormDialog.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { AgentFields } from './AgentFields.tsx';
import { grantableScopes, problemsOf, requiredOf, toChange, valuesOf } from './agent-form.ts';

/** Changes an agent. Only the fields that differ are sent. */
export function EditAgent({ agent: current, opened, onClose }: DialogProps & { readonly agent: Agent }) {
  const { scopes } = useSession();
  const [agent, setAgent] = useState(current);
  // While the dialog is open, an event about the agent must not replace the fields that were typed.
  if (!opened && agent !== current) setAgent(current);
  const isDocument = agent.clientUri !== null;
  return (
    <FormDialog
      key={agent.updatedAt}
      opened={opened}
      onClose={onClose}
      title="Edit agent"
      submitLabel="Save changes"
      size="lg"
      initialValues={valuesOf(agent)}
      required={requiredOf(isDocument)}
      validate={problemsOf}
      operation="updateAgent"
      inputOf={(values) => ({ params: { agentId: agent.agentId }, body: toChange(values, agent) })}
      isUnchanged={(values) => Object.keys(toChange(values, agent)).length === 0}
      refreshes={['/agents']}
      doneMessage="Changes saved."
    >
      {(form) => (
        <>
          <Text size="sm" c="dimmed">
            New tokens carry only the scopes that are checked here.
          </Text>
          <AgentFields form={form} grantable={grantableScopes(scopes)} isDocument={isDocument} />
        </>
      )}
    </FormDialog>
  );
}
