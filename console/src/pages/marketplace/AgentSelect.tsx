import { Select, type SelectProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { useApi } from '../../api/queries.ts';
import { visibleText } from '../../components/TenantText.tsx';

const typingMilliseconds = 300;

/** Chooses an active agent. The server searches. */
export function AgentSelect(props: Omit<SelectProps, 'data'>) {
  const [typed, setTyped] = useState('');
  const [q] = useDebouncedValue(typed, typingMilliseconds);
  const { data, isFetching, error } = useApi(
    'listAgents',
    { query: { status: 'active', limit: 20, ...(q && { q }) } },
    { keepPrevious: true },
  );
  return (
    <Select
      label="Agent"
      description="The beginning of its e-mail address or owner finds it"
      placeholder="Search"
      searchable
      {...props}
      data={(data?.data ?? []).map(({ agentId, email }) => ({ value: agentId, label: visibleText(email) }))}
      // The server has filtered.
      filter={({ options }) => options}
      onSearchChange={setTyped}
      nothingFoundMessage={
        error ? error.message : isFetching ? 'Searching' : 'No active agent begins like this'
      }
    />
  );
}
