/** Creates a credential, or replaces the secret of one. Then the secret is shown once. */

import { Select, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Agent, Credential, CredentialWithSecret } from '../../../api/generated.ts';
import type { DialogProps } from '../../../components/FormDialog.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { SecretOnce } from '../../../components/SecretOnce.tsx';
import { TokenCommand } from '../../../components/TokenCommand.tsx';
import { expiresAtOf, expiryChoices, keepChoice, problemOfExpiry } from './expiry.ts';

interface Values extends Record<string, unknown> {
  name: string;
  /** The name of the API's field, so that its message appears here. */
  expiresAt: string;
  customExpiry: string;
}

interface CredentialDialogProps extends DialogProps {
  readonly agent: Agent;
  /** Undefined: a new credential. */
  readonly rotated?: Credential | undefined;
}

export function CredentialDialog({ agent, rotated, opened, onClose }: CredentialDialogProps) {
  const [created, setCreated] = useState<CredentialWithSecret>();
  const { agentId } = agent;
  const inputOf = ({ name, expiresAt: choice, customExpiry }: Values) => {
    const expiresAt = expiresAtOf(choice, customExpiry, Date.now());
    return rotated
      ? { params: { agentId, credentialId: rotated.credentialId }, body: { expiresAt } }
      : { params: { agentId }, body: { name: name.trim() || null, expiresAt } };
  };
  const initialValues: Values = { name: '', expiresAt: rotated ? 'keep' : '90', customExpiry: '' };
  return (
    <>
      <FormDialog
        key={rotated?.credentialId}
        opened={opened}
        onClose={onClose}
        title={rotated ? 'Rotate the secret' : 'New credential'}
        submitLabel={rotated ? 'Rotate secret' : 'Create credential'}
        confirms={rotated !== undefined}
        initialValues={initialValues}
        validate={({ expiresAt, customExpiry }) => {
          const problem = problemOfExpiry(expiresAt, customExpiry, Date.now());
          return problem === undefined ? {} : { customExpiry: problem };
        }}
        operation={rotated ? 'rotateCredential' : 'generateCredential'}
        inputOf={inputOf}
        refreshes={['/agents', '/overview']}
        onDone={setCreated}
      >
        {(form) => (
          <>
            <Text size="sm" c="dimmed">
              {rotated
                ? 'The credential gets a new secret and keeps its name. The old secret ends at once; tokens that it got stay valid until they expire.'
                : 'A client id and a secret, with which the agent gets tokens. The secret is shown once.'}
            </Text>
            {!rotated && (
              <TextInput
                label="Name"
                description="Optional: where it is used, such as production cluster"
                maxLength={64}
                data-autofocus
                {...form.getInputProps('name')}
              />
            )}
            <Select
              label="Expires"
              data={rotated ? [keepChoice, ...expiryChoices] : expiryChoices}
              allowDeselect={false}
              {...form.getInputProps('expiresAt')}
            />
            {form.values.expiresAt === 'custom' && (
              <TextInput
                type="datetime-local"
                label="Day and time"
                description="In the time zone of your browser"
                {...form.getInputProps('customExpiry')}
              />
            )}
          </>
        )}
      </FormDialog>
      <SecretOnce
        secret={created?.clientSecret}
        name="Client secret"
        onClose={() => setCreated(undefined)}
        variables={{
          API_URL: location.origin,
          CLIENT_ID: agentId,
          CLIENT_SECRET: created?.clientSecret ?? '',
        }}
        fileName={`agent-${agentId}`}
      >
        <Stack gap="xs">
          <Text size="sm">This command gets a token with it:</Text>
          <TokenCommand agentId={agentId} secret={created?.clientSecret} />
        </Stack>
      </SecretOnce>
    </>
  );
}
