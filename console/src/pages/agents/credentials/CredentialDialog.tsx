/** Creates a credential, or replaces the secret of one. Then the secret is shown once. */
import { Select, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Agent, Credential, CredentialWithSecret } from '../../../api/generated.ts';
import { useAction } from '../../../api/queries.ts';
import { CopyAsCurl } from '../../../components/CopyAsCurl.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { SecretOnce } from '../../../components/SecretOnce.tsx';
import { TokenCommand } from '../../../components/TokenCommand.tsx';
import { expiresAtOf, expiryChoices, keepChoice, problemOfExpiry } from './expiry.ts';

const refreshes = ['/agents', '/overview'];

interface Values extends Record<string, unknown> {
  name: string;
  /** The name of the API's field, so that its message appears here. */
  expiresAt: string;
  customExpiry: string;
}

export function CredentialDialog({
  agent,
  rotated,
  opened,
  onClose,
}: {
  readonly agent: Agent;
  /** Undefined: a new credential. */
  readonly rotated?: Credential | undefined;
  readonly opened: boolean;
  readonly onClose: () => void;
}) {
  const [created, setCreated] = useState<CredentialWithSecret>();
  const generate = useAction('generateCredential', { refreshes });
  const rotate = useAction('rotateCredential', { refreshes });
  const { agentId } = agent;

  const newInput = ({ name, expiresAt, customExpiry }: Values) => ({
    params: { agentId },
    body: { name: name.trim() || null, expiresAt: expiresAtOf(expiresAt, customExpiry, Date.now()) },
  });
  const rotation = ({ expiresAt, customExpiry }: Values) => ({
    params: { agentId, credentialId: rotated?.credentialId ?? '' },
    body: { expiresAt: expiresAtOf(expiresAt, customExpiry, Date.now()) },
  });
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
        onSubmit={async (values) =>
          setCreated(
            rotated
              ? await rotate.mutateAsync(rotation(values))
              : await generate.mutateAsync(newInput(values)),
          )
        }
        extra={(values) =>
          rotated ? (
            <CopyAsCurl operation="rotateCredential" input={rotation(values)} />
          ) : (
            <CopyAsCurl operation="generateCredential" input={newInput(values)} />
          )
        }
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
        onClose={() => {
          setCreated(undefined);
          // The answers hold the secret.
          generate.reset();
          rotate.reset();
        }}
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
