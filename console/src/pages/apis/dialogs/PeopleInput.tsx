import { MultiSelect, Stack, TagsInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useApi } from '../../../api/queries.ts';
import { isAdmin } from '../../../app/page.ts';
import { useSession } from '../../../app/session-context.tsx';
import { CheckList } from '../../../components/CheckList.tsx';
import { counted } from '../../../components/counted.ts';
import { FormSection } from '../../../components/FormSection.tsx';
import { visibleText } from '../../../components/TenantText.tsx';
import type { ApiValues } from './api-values.ts';

const maxApprovers = 50;

interface PeopleInputProps {
  readonly form: UseFormReturnType<ApiValues>;
  /** Of the API; the session's for a new one. */
  readonly organizationId: string | undefined;
}

/** The scopes that people may lend to agents that act for them. */
export function PeopleInput({ form, organizationId }: PeopleInputProps) {
  const names = [...new Set(form.values.scopes.map(({ name }) => name.trim()))].filter(Boolean);
  return (
    <FormSection title="People" summary={lentText(form.values)}>
      <Stack gap="sm">
        <CheckList
          label="Scopes that every person may lend"
          description="A person of the organization can let an agent act with them. Admins and approvers may lend every scope."
          choices={names.map((name) => ({ value: name, label: visibleText(name) }))}
          none="Name a scope above first."
          {...form.getInputProps('peopleScopes')}
        />
        <ApproversInput form={form} organizationId={organizationId} />
      </Stack>
    </FormSection>
  );
}

const lentText = ({ peopleScopes, approvers }: ApiValues): string =>
  peopleScopes.length + approvers.length === 0
    ? 'only admins may lend'
    : `${counted(peopleScopes.length, 'scopes')}, ${counted(approvers.length, 'approvers')}`;

/** By name for those who may see the people of the organization, by id for others. */
function ApproversInput({ form, organizationId }: PeopleInputProps) {
  const session = useSession();
  const people = useApi(
    'listPeople',
    { params: { orgId: organizationId ?? session.organizationId }, query: { limit: 100 } },
    { enabled: isAdmin(session) },
  );
  const known = people.data?.data ?? [];
  const label = 'Approvers';
  const description = 'People who may lend every scope of this API.';
  if (!people.data)
    return (
      <TagsInput
        label={label}
        description={`${description} Enter their ids.`}
        maxTags={maxApprovers}
        {...form.getInputProps('approvers')}
      />
    );
  const unknown = form.values.approvers.filter((id) => !known.some(({ personId }) => personId === id));
  return (
    <MultiSelect
      label={label}
      description={description}
      searchable
      clearable
      maxValues={maxApprovers}
      data={[
        ...known.map(({ personId, name, email }) => ({
          value: personId,
          label: visibleText(email === null ? name : `${name} (${email})`),
        })),
        ...unknown.map((personId) => ({ value: personId, label: personId })),
      ]}
      {...form.getInputProps('approvers')}
    />
  );
}
