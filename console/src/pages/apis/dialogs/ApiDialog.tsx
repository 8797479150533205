import { Alert, NumberInput, Textarea, TextInput } from '@mantine/core';
import type { Resource } from '../../../api/generated.ts';
import { CheckList } from '../../../components/CheckList.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { Icon } from '../../../components/Icon.tsx';
import { offlineVerificationNote } from '../../../components/offline-verification.ts';
import { type ApiValues, changeOf, newResourceOf, problemsOf, valuesOf } from './api-values.ts';
import { DetailTypesInput } from './DetailTypesInput.tsx';
import { PeopleInput } from './PeopleInput.tsx';
import { ScopesInput } from './ScopesInput.tsx';

/** Facts about the agent, and about the person it acts for, that tokens can carry, with the name of the claim. */
const claims = [
  { value: 'agentType', label: 'Type', claim: 'agent_type' },
  { value: 'capabilities', label: 'Capabilities', claim: 'capabilities' },
  { value: 'owner', label: 'Owner', claim: 'owner' },
  { value: 'deploymentEnv', label: 'Environment', claim: 'deployment_env' },
  { value: 'version', label: 'Version', claim: 'agent_version' },
  { value: 'personName', label: 'Name of the person', claim: 'person_name' },
  { value: 'personEmail', label: 'E-mail of the person', claim: 'person_email' },
  {
    value: 'personSubject',
    label: 'Identity of the person at the provider',
    claim: 'person_iss, person_sub',
  },
] as const;

interface ApiDialogProps {
  readonly onClose: () => void;
  /** Absent: a new API. */
  readonly resource?: Resource;
  readonly onRegistered?: (resource: Resource) => void;
}

/** Registers or changes an API. Mounted while it is open. */
export function ApiDialog({ onClose, resource, onRegistered }: ApiDialogProps) {
  return (
    <FormDialog
      opened
      onClose={onClose}
      title={resource ? 'Edit API' : 'Register an API'}
      submitLabel={resource ? 'Save API' : 'Register API'}
      size="lg"
      initialValues={valuesOf(resource)}
      required={{ name: 'Give it a name.', identifier: 'Enter the address of your API.' }}
      validate={problemsOf}
      operation={resource ? 'updateResource' : 'createResource'}
      inputOf={(values) =>
        resource
          ? { params: { resourceId: resource.resourceId }, body: changeOf(values) }
          : { body: newResourceOf(values) }
      }
      refreshes={['/resources', '/agents']}
      doneMessage={resource ? 'API changed' : 'API registered'}
      onDone={onRegistered}
    >
      {(form) => (
        <>
          <TextInput label="Name" maxLength={128} data-autofocus {...form.getInputProps('name')} />
          <TextInput
            label="Identifier"
            description={
              resource
                ? 'The audience of its tokens. It cannot be changed.'
                : 'The address of your API. It becomes the audience of its tokens and cannot be changed later.'
            }
            placeholder="https://orders.example.com"
            maxLength={512}
            inputMode="url"
            readOnly={resource !== undefined}
            {...form.getInputProps('identifier')}
          />
          <Textarea label="Description" maxLength={1024} {...form.getInputProps('description')} />
          <ScopesInput form={form} />
          <LostScopes resource={resource} values={form.values} />
          <PeopleInput form={form} organizationId={resource?.organizationId} />
          <DetailTypesInput form={form} />
          <NumberInput
            label="Token lifetime in seconds"
            required
            description="From 60 to 3,600. A shorter time closes the gap between a change and its effect in APIs that verify offline."
            min={60}
            max={3600}
            step={60}
            clampBehavior="none"
            allowDecimal={false}
            {...form.getInputProps('tokenLifetimeSeconds')}
          />
          <CheckList
            label="Facts about the agent in its tokens"
            description="Each becomes a claim. Those of a person are only in tokens of agents that act for one."
            choices={claims.map(({ value, label, claim }) => ({
              value,
              label: (
                <>
                  {label} <code>{claim}</code>
                </>
              ),
            }))}
            {...form.getInputProps('claims')}
          />
        </>
      )}
    </FormDialog>
  );
}

interface LostScopesProps {
  readonly resource: Resource | undefined;
  readonly values: ApiValues;
}

/** Says what ends when the change is saved. */
function LostScopes({ resource, values }: LostScopesProps) {
  const left = new Set(values.scopes.map(({ name }) => name.trim()));
  const lost = (resource?.scopes ?? []).map(({ name }) => name).filter((name) => !left.has(name));
  if (lost.length === 0) return null;
  return (
    <Alert color="yellow" icon={<Icon name="warning" />} title={`Ends with this change: ${lost.join(', ')}`}>
      It is taken from all shares and grants at once, and tokens that have it end for introspection.{' '}
      {offlineVerificationNote(resource?.tokenLifetimeSeconds)} Adding it again later brings none of them
      back.
    </Alert>
  );
}
