import { Alert, Checkbox, NumberInput, Select, TagsInput, Text, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useRef } from 'react';
import type { TrustPolicy } from '../../api/generated.ts';
import { AgentSelect } from '../../components/AgentSelect.tsx';
import { ConditionsEditor } from '../../components/ConditionsEditor.tsx';
import type { DialogProps } from '../../components/FormDialog.tsx';
import { FormDialog } from '../../components/FormDialog.tsx';
import { GrantedScopes } from './GrantedScopes.tsx';
import {
  changeOf,
  newPolicyOf,
  newPolicyValues,
  type PolicyValues,
  required,
  validatePolicy,
  valuesOf,
} from './policy-values.ts';
import { type Provider, presets, providers } from './presets.ts';

interface PolicyDialogProps extends DialogProps {
  /** Without it the dialog creates one. */
  readonly policy?: TrustPolicy;
  readonly onDone: (policyId: string) => void;
}

/** Creates or changes a trust policy. A provider brings its issuer and examples. */
export function PolicyDialog({ policy, opened, onClose, onDone }: PolicyDialogProps) {
  const doneId = useRef<string>(undefined);
  /** The form closes after success, too. One change of the address: two would undo each other. */
  const close = () => {
    const policyId = doneId.current;
    doneId.current = undefined;
    if (policyId === undefined) onClose();
    else onDone(policyId);
  };
  return (
    <FormDialog
      opened={opened}
      onClose={close}
      title={policy ? 'Edit trust policy' : 'Create trust policy'}
      submitLabel={policy ? 'Save policy' : 'Create policy'}
      size="lg"
      initialValues={policy ? valuesOf(policy) : newPolicyValues(location.origin)}
      required={required}
      validate={validatePolicy}
      operation={policy ? 'updateTrustPolicy' : 'createTrustPolicy'}
      inputOf={(values: PolicyValues) =>
        policy
          ? { params: { policyId: policy.policyId }, body: changeOf(values) }
          : { body: newPolicyOf(values) }
      }
      refreshes={['/oidc']}
      doneMessage={policy ? 'Trust policy changed' : 'Trust policy created'}
      onDone={({ policyId }) => {
        doneId.current = policyId;
      }}
    >
      {(form) => <Fields form={form} isNew={policy === undefined} />}
    </FormDialog>
  );
}

interface FieldsProps {
  readonly form: UseFormReturnType<PolicyValues>;
  readonly isNew: boolean;
}

function Fields({ form, isNew }: FieldsProps) {
  const preset = presets[form.values.provider];
  return (
    <>
      {isNew && <ProviderChoice form={form} />}
      <TextInput label="Name" maxLength={128} {...form.getInputProps('name')} />
      {isNew && (
        <AgentSelect
          label="Becomes agent"
          description="A workload that matches gets tokens of this agent."
          {...form.getInputProps('agentId')}
          onChange={(next) => form.setValues({ agentId: next, scopes: [], resources: {} })}
        />
      )}
      <TextInput
        label="Issuer"
        placeholder={preset.issuerExample}
        maxLength={1024}
        {...form.getInputProps('issuer')}
      />
      {(preset.ownKeys || form.values.jwksUri !== '') && (
        <TextInput
          label="Address of its keys"
          description="Empty: the issuer's discovery document says it."
          placeholder={`${preset.issuerExample}/jwks.json`}
          maxLength={2048}
          {...form.getInputProps('jwksUri')}
        />
      )}
      <TagsInput
        label="Audiences"
        description="One of them must be the token's aud. Enter adds one."
        maxTags={10}
        {...form.getInputProps('audiences')}
      />
      <TextInput
        label="Subject"
        description={`${preset.subjectForm}. A * stands for any text without / and :.`}
        placeholder={preset.subjectExample}
        maxLength={1024}
        {...form.getInputProps('subject')}
      />
      <ConditionsEditor form={form} suggestions={preset.claims} none="None. The subject alone decides." />
      <GrantedScopes form={form} />
      <Checkbox
        label="Acts as admin"
        description="The workload has the role admin, if the agent has it. Only admins can set this."
        {...form.getInputProps('actsAsAdmin', { type: 'checkbox' })}
      />
      <NumberInput
        label="Oldest token, in seconds"
        min={1}
        max={86_400}
        {...form.getInputProps('maxTokenAgeSeconds')}
      />
      <Checkbox label="Each token works once" {...form.getInputProps('singleUse', { type: 'checkbox' })} />
    </>
  );
}

function ProviderChoice({ form }: { readonly form: UseFormReturnType<PolicyValues> }) {
  const choose = (provider: Provider) =>
    form.setValues({ provider, issuer: presets[provider].issuer ?? '', jwksUri: '' });
  return (
    <>
      <Select
        label="Provider"
        data={providers.map((provider) => ({ value: provider, label: presets[provider].label }))}
        value={form.values.provider}
        onChange={(next) => next && choose(next as Provider)}
        allowDeselect={false}
        error={form.errors.provider}
      />
      <Alert role="note">
        <Text size="sm">{presets[form.values.provider].about}</Text>
      </Alert>
    </>
  );
}
