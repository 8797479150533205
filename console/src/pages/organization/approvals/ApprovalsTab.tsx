import { Checkbox, MultiSelect, NumberInput, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type ReactNode, useState } from 'react';
import type { Organization } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { usePageSearch } from '../../../app/navigation.tsx';
import { useCan } from '../../../app/session-context.tsx';
import { CopyAs } from '../../../components/CopyAs.tsx';
import { durationText } from '../../../components/duration-text.ts';
import { Facts } from '../../../components/Facts.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { useFrozen } from '../../../components/frozen.ts';
import { IconButton } from '../../../components/IconButton.tsx';
import { QueryState } from '../../../components/QueryState.tsx';
import { Section } from '../../../components/Section.tsx';
import { visibleText } from '../../../components/TenantText.tsx';
import { organizationPage } from '../page.ts';
import {
  type ApprovalPolicyValues,
  maxAccessSeconds,
  maxRequireTwo,
  minAccessSeconds,
  type Policy,
  policyOf,
  policyProblems,
  valuesOf,
} from './approval-policy.ts';

/** The rules under which people of the organization approve requests of agents. */
export function ApprovalsTab({ organization }: { readonly organization: Organization }) {
  const [search, setSearch] = usePageSearch(organizationPage);
  const { organizationId } = organization;
  const input = { params: { orgId: organizationId } };
  const policy = useApi('getApprovalPolicy', input);
  return (
    <Section
      title="Approval policy"
      description="For requests of agents that a person decides. The rules count at the moment of the request and of the decision."
      actions={
        <>
          <CopyAs operation="getApprovalPolicy" input={input} />
          <IconButton variant="default" icon="edit" onClick={() => setSearch({ add: true })}>
            Change policy
          </IconButton>
        </>
      }
    >
      <QueryState query={policy} label="Loading the approval policy" rows={3}>
        {(current) => (
          <>
            <PolicyFacts policy={current as Policy} />
            <ChangePolicy
              organizationId={organizationId}
              policy={current as Policy}
              opened={search.add}
              onClose={() => setSearch({ add: false })}
            />
          </>
        )}
      </QueryState>
    </Section>
  );
}

function PolicyFacts({ policy }: { readonly policy: Policy }) {
  const { maxAccessSeconds: longest, selfApproval, requireTwo } = policy;
  return (
    <Facts
      facts={{
        'Longest access': `${durationText(longest)} (${longest.toLocaleString('en')} seconds)`,
        'Own agents': selfApproval
          ? 'People may approve requests of agents that they registered or own.'
          : 'People do not approve requests of an agent that they registered or own.',
        'Two people for':
          requireTwo.length === 0 ? (
            'no API'
          ) : (
            <ul>
              {requireTwo.map((identifier) => (
                <li key={identifier}>
                  <bdi>{visibleText(identifier)}</bdi>
                </li>
              ))}
            </ul>
          ),
      }}
    />
  );
}

interface ChangePolicyProps {
  readonly organizationId: string;
  readonly policy: Policy;
  readonly opened: boolean;
  readonly onClose: () => void;
}

function ChangePolicy({ organizationId, policy: current, opened, onClose }: ChangePolicyProps) {
  const policy = useFrozen(current, opened ? 'policy' : undefined);
  return (
    <FormDialog
      key={JSON.stringify(policy)}
      opened={opened}
      onClose={onClose}
      title="Change the approval policy"
      submitLabel="Save policy"
      initialValues={valuesOf(policy)}
      validate={policyProblems}
      operation="putApprovalPolicy"
      inputOf={(values: ApprovalPolicyValues) => ({
        params: { orgId: organizationId },
        body: policyOf(values),
      })}
      refreshes={['/organizations']}
      doneMessage="Approval policy saved."
    >
      {(form) => (
        <>
          <NumberInput
            label="Longest access in seconds"
            required
            description="From 60 to 86,400. An agent that asks for more is refused."
            min={minAccessSeconds}
            max={maxAccessSeconds}
            step={60}
            clampBehavior="none"
            allowDecimal={false}
            {...form.getInputProps('maxAccessSeconds')}
          />
          <Checkbox
            label="People may approve requests of their own agents"
            description="Of agents that they registered here, or own by their verified e-mail."
            {...form.getInputProps('selfApproval', { type: 'checkbox' })}
          />
          <RequireTwoInput {...form.getInputProps('requireTwo')} />
          {form.values.requireTwo.length > 0 && (
            <Text size="xs" c="dimmed">
              A request for these waits until a second person has approved it, too.
            </Text>
          )}
        </>
      )}
    </FormDialog>
  );
}

interface RequireTwoInputProps {
  readonly value?: string[];
  readonly onChange?: (identifiers: string[]) => void;
  readonly error?: ReactNode;
}

const typingMilliseconds = 300;

/** The server searches among the registered APIs. Chosen ones stay, also those that are no longer registered. */
function RequireTwoInput({ value = [], ...field }: RequireTwoInputProps) {
  const [typed, setTyped] = useState('');
  const [settled] = useDebouncedValue(typed.trim(), typingMilliseconds);
  const apis = useApi(
    'listResources',
    { query: { q: settled || undefined, limit: 50 } },
    { keepPrevious: true, enabled: useCan()('resources:read') },
  );
  const found = apis.data?.data ?? [];
  const unknown = value.filter((one) => !found.some(({ identifier }) => identifier === one));
  return (
    <MultiSelect
      label="APIs that need two people"
      description="Two different people must approve each request for them."
      placeholder={value.length === 0 ? 'Name or identifier' : ''}
      searchable
      searchValue={typed}
      onSearchChange={setTyped}
      // The server has searched.
      filter={({ options }) => options}
      clearable
      maxValues={maxRequireTwo}
      nothingFoundMessage={apis.isFetching ? 'Searching…' : 'No registered API matches'}
      data={[
        ...found.map(({ identifier, name }) => ({
          value: identifier,
          label: visibleText(`${name} (${identifier})`),
        })),
        ...unknown.map((identifier) => ({ value: identifier, label: visibleText(identifier) })),
      ]}
      value={value}
      {...field}
    />
  );
}
