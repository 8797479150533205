import { Text } from '@mantine/core';
import { useState } from 'react';
import type { Agent } from '../../../api/generated.ts';
import { useAction } from '../../../api/queries.ts';
import { useSession } from '../../../app/session-context.tsx';
import { CopyAsCurl } from '../../../components/CopyAsCurl.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { showDone } from '../../../components/notices.tsx';
import { AgentFields } from './AgentFields.tsx';
import { grantableScopes, problemsOf, toChange, valuesOf } from './agent-form.ts';

/** Changes an agent. Only the fields that differ are sent. */
export function EditAgent({
  agent: current,
  opened,
  onClose,
}: {
  readonly agent: Agent;
  readonly opened: boolean;
  readonly onClose: () => void;
}) {
  const { scopes } = useSession();
  const [agent, setAgent] = useState(current);
  // While the dialog is open, an event about the agent must not replace the fields that were typed.
  if (!opened && agent !== current) setAgent(current);
  const update = useAction('updateAgent', { refreshes: ['/agents'] });
  const params = { agentId: agent.agentId };
  return (
    <FormDialog
      key={agent.updatedAt}
      opened={opened}
      onClose={onClose}
      title="Edit agent"
      submitLabel="Save changes"
      size="lg"
      initialValues={valuesOf(agent)}
      validate={problemsOf}
      onSubmit={async (values) => {
        const body = toChange(values, agent);
        if (Object.keys(body).length === 0) return;
        await update.mutateAsync({ params, body });
        showDone('Changes saved.');
      }}
      extra={(values) => (
        <CopyAsCurl operation="updateAgent" input={{ params, body: toChange(values, agent) }} />
      )}
    >
      {(form) => (
        <>
          <Text size="sm" c="dimmed">
            New tokens carry only the scopes that are checked here.
          </Text>
          <AgentFields form={form} grantable={grantableScopes(scopes)} />
        </>
      )}
    </FormDialog>
  );
}
