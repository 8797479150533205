/** Grants scopes of a registered API to the agent. The API replaces the whole grant: unchecked scopes end. */

import { Alert, Select, Stack, Text, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import type { Agent, Grant, Resource } from '../../../api/generated.ts';
import { useApi } from '../../../api/queries.ts';
import { PageLink } from '../../../app/navigation.tsx';
import { useCan } from '../../../app/session-context.tsx';
import { CheckList } from '../../../components/CheckList.tsx';
import { EarlierGrant } from '../../../components/EarlierGrant.tsx';
import { ErrorState } from '../../../components/ErrorState.tsx';
import type { DialogProps } from '../../../components/FormDialog.tsx';
import { FormDialog } from '../../../components/FormDialog.tsx';
import { Icon } from '../../../components/Icon.tsx';
import { LoadingState } from '../../../components/LoadingState.tsx';
import { offlineVerificationNote } from '../../../components/offline-verification.ts';
import { QueryState } from '../../../components/QueryState.tsx';
import { TenantText, visibleText } from '../../../components/TenantText.tsx';

interface Values extends Record<string, unknown> {
  resourceId: string;
  scopes: string[];
}

const most = 100;

interface GrantScopesProps extends DialogProps {
  readonly agent: Agent;
  /** Undefined: for an API of one's choice. */
  readonly grant: Grant | undefined;
}

export function GrantScopes({ agent, grant, opened, onClose }: GrantScopesProps) {
  const [start, setStart] = useState(grant);
  // The dialog keeps its content while it closes.
  if (opened && start !== grant) setStart(grant);
  const mayReadApis = useCan()('resources:read');
  const inputOf = ({ resourceId, scopes }: Values) => ({
    params: { agentId: agent.agentId, resourceId },
    body: { scopes },
  });
  return (
    <FormDialog
      key={start?.resourceId ?? 'new'}
      opened={opened}
      onClose={onClose}
      title={start ? 'Change the grant' : 'Grant scopes of an API'}
      submitLabel={start ? 'Save grant' : 'Grant scopes'}
      size="lg"
      initialValues={{ resourceId: start?.resourceId ?? '', scopes: start?.scopes ?? [] }}
      validate={({ resourceId, scopes }) => ({
        ...(resourceId === '' && { resourceId: 'Choose an API' }),
        ...(resourceId !== '' && scopes.length === 0 && { scopes: 'Choose at least one scope' }),
      })}
      operation="putAgentGrant"
      inputOf={inputOf}
      refreshes={['/agents', '/resources']}
      doneMessage="Grant saved."
    >
      {(form) => {
        if (!opened) return null;
        if (!mayReadApis)
          return (
            <Alert color="yellow" icon={<Icon name="lock" />} title="You cannot list the APIs">
              Choosing an API needs the scope <code>resources:read</code>.
            </Alert>
          );
        return start ? <OneApi form={form} grant={start} /> : <ChosenApi form={form} agent={agent} />;
      }}
    </FormDialog>
  );
}

type Form = UseFormReturnType<Values>;

function OneApi({ form, grant }: { readonly form: Form; readonly grant: Grant }) {
  const api = useApi('getResource', { params: { resourceId: grant.resourceId } });
  return (
    <Stack>
      <Text size="sm">
        API <TenantText text={grant.identifier} multiline />
      </Text>
      <QueryState query={api} label="Loading the API" rows={3}>
        {(data) => <ApiScopes form={form} api={data} />}
      </QueryState>
    </Stack>
  );
}

function ChosenApi({ form, agent }: { readonly form: Form; readonly agent: Agent }) {
  const [typed, setTyped] = useState('');
  const [q] = useDebouncedValue(typed, 400);
  const apis = useApi('listResources', { query: { limit: most, q: q || undefined } }, { keepPrevious: true });
  if (apis.error) return <ErrorState error={apis.error} onRetry={() => void apis.refetch()} />;
  if (!apis.data) return <LoadingState label="Loading the APIs" rows={3} />;
  const { data, total } = apis.data;
  if (total === 0 && q === '')
    return (
      <Alert icon={<Icon name="apis" />} title="No API is registered yet">
        <PageLink to="/apis" search={{ create: '1' }}>
          Register an API
        </PageLink>{' '}
        with its scopes. Then you can grant them here.
      </Alert>
    );
  const chosen = data.find(({ resourceId }) => resourceId === form.values.resourceId);
  const choose = (resourceId: string | null) => {
    if ((resourceId ?? '') === form.values.resourceId) return;
    form.setValues({ resourceId: resourceId ?? '', scopes: [] });
    form.clearErrors();
  };
  return (
    <Stack>
      {(total > most || q !== '') && (
        <TextInput
          label="Find an API"
          description={`A part of its name or identifier; ${Math.min(total, most)} of ${total.toLocaleString('en')} are listed below`}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          maxLength={512}
        />
      )}
      <Select
        label="API"
        placeholder="Choose an API"
        data={data.map(({ resourceId, name, identifier }) => ({
          value: resourceId,
          label: `${visibleText(name)} (${visibleText(identifier)})`,
        }))}
        searchable
        required
        data-autofocus
        value={form.values.resourceId || null}
        onChange={choose}
        error={form.errors.resourceId}
        nothingFoundMessage="No API has this name"
      />
      {form.values.resourceId !== '' && (
        <EarlierGrant
          key={form.values.resourceId}
          agentId={agent.agentId}
          resourceId={form.values.resourceId}
          onScopes={(scopes) => form.setFieldValue('scopes', scopes)}
        >
          {() => chosen && <ApiScopes form={form} api={chosen} />}
        </EarlierGrant>
      )}
    </Stack>
  );
}

function ApiScopes({ form, api }: { readonly form: Form; readonly api: Resource }) {
  return (
    <CheckList
      label="Scopes"
      description={`The grant has exactly the checked scopes. A scope that you uncheck ends at once for introspection, also in tokens. ${offlineVerificationNote()}`}
      required
      choices={api.scopes.map(({ name, description }) => ({
        value: name,
        label: visibleText(name),
        description: description ? <TenantText text={description} multiline /> : undefined,
      }))}
      {...form.getInputProps('scopes')}
    />
  );
}
