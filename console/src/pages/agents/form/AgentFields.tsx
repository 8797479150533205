import { Checkbox, NumberInput, Select, SimpleGrid, Stack, TagsInput, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import type { Scope } from '../../../api/generated.ts';
import { agentTypes } from '../../../components/agent-types.ts';
import { FormSection } from '../../../components/FormSection.tsx';
import { type AgentValues, deploymentEnvs, operatorScope } from './agent-form.ts';
import { ScopeChecks } from './ScopeChecks.tsx';

/** The fields that registering and editing share. The e-mail address cannot change later. */
export function AgentFields({
  form,
  grantable,
  isDocument = false,
}: {
  readonly form: UseFormReturnType<AgentValues>;
  readonly grantable: readonly Scope[];
  /** The agent of a client that came by a metadata document, which has its redirect URIs. */
  readonly isDocument?: boolean;
}) {
  return (
    <Stack gap="md">
      <TextInput
        label="Display name"
        description="What people call it. The e-mail address stays the name that proves something."
        placeholder="Résumé reader"
        maxLength={64}
        {...form.getInputProps('displayName')}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="md" verticalSpacing="md">
        <Select
          label="Type"
          data={[...agentTypes]}
          allowDeselect={false}
          {...form.getInputProps('agentType')}
        />
        <Select
          label="Environment"
          data={[...deploymentEnvs]}
          allowDeselect={false}
          {...form.getInputProps('deploymentEnv')}
        />
        <TextInput
          label="Owner"
          description="The team or person who answers for it"
          {...form.getInputProps('owner')}
        />
        <TextInput
          label="Version"
          description="A semantic version such as 1.4.0"
          {...form.getInputProps('version')}
        />
      </SimpleGrid>
      <TagsInput
        label="Labels"
        description="Of the form key:value, such as team:talent, to find and group agents. They give no rights. Press Enter after each."
        maxTags={20}
        splitChars={[',']}
        acceptValueOnBlur
        {...form.getInputProps('labels')}
      />
      <TagsInput
        label="Capabilities"
        description="Each of the form resource:action, such as resume:read. Press Enter after each."
        splitChars={[',', ' ']}
        acceptValueOnBlur
        {...form.getInputProps('capabilities')}
      />
      <ScopeChecks
        value={form.values.allowedScopes}
        onChange={(scopes) => form.setFieldValue('allowedScopes', scopes)}
        grantable={grantable}
        error={form.errors.allowedScopes}
      />
      <Checkbox
        label="Demand proof of possession (DPoP)"
        description="Each token is bound to a key of the agent: a copy of the token is useless without that key. A token request without a proof is refused, so change the agent's program first."
        {...form.getInputProps('dpopBoundAccessTokens', { type: 'checkbox' })}
      />
      {!isDocument && (
        <FormSection
          title="Acting for people"
          summary={form.values.redirectUris.length === 0 ? 'it acts for no people' : 'it may act for people'}
        >
          <Stack gap="sm">
            <TagsInput
              label="Redirect URIs"
              description="Where the browser brings the answer of a person: https, or http to localhost. Press Enter after each. Empty: the agent acts for no people."
              maxTags={20}
              splitChars={[' ']}
              acceptValueOnBlur
              {...form.getInputProps('redirectUris')}
            />
            <Checkbox
              label="Public client"
              description="An application on people's own computers, which cannot keep a secret. It has no credentials, and gets only tokens that a person has consented to."
              {...form.getInputProps('publicClient', { type: 'checkbox' })}
            />
            <TextInput
              label="Notification address"
              description="An https address of the agent that learns when a person has decided its request. Empty: the agent asks again and again."
              placeholder="https://agent.example.com/approvals"
              maxLength={2048}
              inputMode="url"
              {...form.getInputProps('notificationUri')}
            />
          </Stack>
        </FormSection>
      )}
      {grantable.includes(operatorScope) && (
        <NumberInput
          label="Requests per minute"
          description="Empty: the server's limit for every agent. Only operators set it."
          min={1}
          max={1_000_000}
          allowDecimal={false}
          value={form.values.rateLimitPerMinute}
          onChange={(value) =>
            form.setFieldValue('rateLimitPerMinute', typeof value === 'number' ? value : '')
          }
          error={form.errors.rateLimitPerMinute}
        />
      )}
    </Stack>
  );
}
