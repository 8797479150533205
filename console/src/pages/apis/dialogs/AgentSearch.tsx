import { Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { useApi } from '../../../api/queries.ts';
import { visibleText } from '../../../components/TenantText.tsx';

export interface AgentSearchProps {
  readonly value: string;
  readonly onChange: (agentId: string) => void;
  readonly error?: string | undefined;
}

const typingMilliseconds = 300;

/** Chooses an agent. The server searches by the beginning of e-mail address or owner. */
export function AgentSearch({ value, onChange, error }: AgentSearchProps) {
  const [typed, setTyped] = useState('');
  const [chosen, setChosen] = useState<{ readonly value: string; readonly label: string }>();
  const [debounced] = useDebouncedValue(typed.trim(), typingMilliseconds);
  // The text of the chosen one is no search.
  const q = debounced === chosen?.label || debounced === '' ? undefined : debounced;
  const {
    data,
    isFetching,
    error: failure,
  } = useApi('listAgents', { query: { q, limit: 20 } }, { keepPrevious: true });
  const found = (data?.data ?? [])
    .filter(({ status }) => status !== 'decommissioned')
    .map(({ agentId, email, status }) => ({
      value: agentId,
      label: visibleText(status === 'active' ? email : `${email} (${status})`),
    }));
  const options = chosen && !found.some((one) => one.value === chosen.value) ? [chosen, ...found] : found;
  return (
    <Select
      label="Agent"
      description="Type the beginning of its e-mail address or of its owner."
      placeholder="Search agents"
      searchable
      searchValue={typed}
      onSearchChange={setTyped}
      filter={({ options: all }) => all}
      data={options}
      value={value || null}
      onChange={(agentId, option) => {
        setChosen(agentId ? (option ?? undefined) : undefined);
        onChange(agentId ?? '');
      }}
      nothingFoundMessage={failure ? failure.message : isFetching ? 'Searching…' : 'No agent matches'}
      error={error}
      maxDropdownHeight={240}
      data-autofocus
    />
  );
}
