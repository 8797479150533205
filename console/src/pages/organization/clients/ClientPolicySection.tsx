import { Radio, Stack, TagsInput, Text } from '@mantine/core';
import type { ClientPolicy } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { CopyAs } from '../../../components/CopyAs.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { useFrozen } from '../../../components/frozen.ts';
import { IconButton } from '../../../components/IconButton.tsx';
import { QueryState } from '../../../components/QueryState.tsx';
import { Section } from '../../../components/Section.tsx';
import { visibleText } from '../../../components/TenantText.tsx';
import { clientPolicyModes, type PolicyValues, policyOf, policyProblems } from './client-policy.ts';

interface ClientPolicySectionProps {
  readonly organizationId: string;
  /** Whether the form is open: in the address. */
  readonly opened: boolean;
  readonly onOpen: (opened: boolean) => void;
}

/** Which applications that describe themselves in a document people of the organization may let act for them. */
export function ClientPolicySection({ organizationId, opened, onOpen }: ClientPolicySectionProps) {
  const input = { params: { orgId: organizationId } };
  const policy = useApi('getClientPolicy', input);
  return (
    <Section
      title="Client policy"
      description="For applications that no administrator has registered here: they describe themselves in a document on the web. What people have allowed before stays: suspend the client to end it."
      actions={
        <>
          <CopyAs operation="getClientPolicy" input={input} />
          <IconButton variant="default" icon="edit" onClick={() => onOpen(true)}>
            Change policy
          </IconButton>
        </>
      }
    >
      <QueryState query={policy} label="Loading the client policy" rows={1}>
        {(current) => (
          <>
            <Text size="sm">
              {clientPolicyModes[current.mode].sentence}
              {current.mode === 'domains' && ` ${visibleText(current.domains.join(', ')) || '(none)'}`}
            </Text>
            <ChangePolicy
              organizationId={organizationId}
              policy={current}
              opened={opened}
              onClose={() => onOpen(false)}
            />
          </>
        )}
      </QueryState>
    </Section>
  );
}

interface ChangePolicyProps {
  readonly organizationId: string;
  readonly policy: ClientPolicy;
  readonly opened: boolean;
  readonly onClose: () => void;
}

function ChangePolicy({ organizationId, policy: current, opened, onClose }: ChangePolicyProps) {
  const policy = useFrozen(current, opened ? 'policy' : undefined);
  return (
    <FormDialog
      key={`${policy.mode} ${policy.domains.join()}`}
      opened={opened}
      onClose={onClose}
      title="Change the client policy"
      submitLabel="Save policy"
      initialValues={{ mode: policy.mode, domains: [...policy.domains] } as PolicyValues}
      validate={policyProblems}
      operation="putClientPolicy"
      inputOf={(values: PolicyValues) => ({ params: { orgId: organizationId }, body: policyOf(values) })}
      refreshes={['/organizations']}
      doneMessage="Client policy saved."
    >
      {(form) => (
        <>
          <Radio.Group label="Which applications are admitted" {...form.getInputProps('mode')}>
            <Stack gap="xs" mt="xs">
              {Object.entries(clientPolicyModes).map(([mode, { label, description }]) => (
                <Radio key={mode} value={mode} label={label} description={description} />
              ))}
            </Stack>
          </Radio.Group>
          {form.values.mode === 'domains' && (
            <TagsInput
              label="Domains"
              required
              description="Such as example.com, which admits hosts below it too. Press Enter after each."
              maxTags={100}
              splitChars={[',', ' ']}
              acceptValueOnBlur
              {...form.getInputProps('domains')}
            />
          )}
        </>
      )}
    </FormDialog>
  );
}
