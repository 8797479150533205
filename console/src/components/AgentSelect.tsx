import { Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type ReactNode, useState } from 'react';
import { useAgentById } from '../api/agent-names.ts';
import type { Agent } from '../api/generated.ts';
import { useApi } from '../api/queries.ts';
import { visibleText } from './TenantText.tsx';

export interface AgentSelectProps {
  readonly label?: ReactNode;
  readonly 'aria-label'?: string;
  readonly placeholder?: string;
  readonly description?: ReactNode;
  readonly value: string | undefined;
  readonly onChange: (agentId: string | undefined) => void;
  readonly error?: ReactNode;
  readonly required?: boolean;
  readonly clearable?: boolean;
  readonly size?: string;
  /** Agents that are not offered. */
  readonly except?: readonly string[];
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const typingMilliseconds = 300;

/** Chooses an active agent: the server searches by the beginning of e-mail address or owner; an id works too. */
export function AgentSelect(props: AgentSelectProps) {
  const { value, onChange, except = [], placeholder = 'E-mail address, owner or id', ...rest } = props;
  const [typed, setTyped] = useState('');
  const [wanted] = useDebouncedValue(typed.trim(), typingMilliseconds);
  const chosen = useAgentById(value);
  const isId = uuid.test(wanted);
  const byId = useAgentById(isId ? wanted.toLowerCase() : undefined);
  const query = { status: 'active' as const, limit: 20, ...(wanted !== '' && !isId && { q: wanted }) };
  const list = useApi('listAgents', { query }, { keepPrevious: true });
  const found = isId ? (byId ? [byId] : []) : (list.data?.data ?? []);
  const agents = [...(chosen ? [chosen] : []), ...found.filter(({ agentId }) => agentId !== value)];
  const options = agents.filter(({ agentId }) => !except.includes(agentId)).map(optionOf);
  if (value !== undefined && !chosen) options.unshift({ value, label: value });
  return (
    <Select
      {...rest}
      placeholder={placeholder}
      data={options}
      value={value ?? null}
      onChange={(next) => onChange(next ?? undefined)}
      searchable
      searchValue={typed}
      onSearchChange={setTyped}
      filter={({ options: all }) => all}
      nothingFoundMessage={list.isFetching ? 'Searching…' : 'No active agent begins with this'}
      clearButtonProps={{ 'aria-label': 'Clear the agent' }}
      maxDropdownHeight={280}
      comboboxProps={{ withinPortal: true }}
    />
  );
}

const optionOf = ({ agentId, email }: Agent) => ({ value: agentId, label: visibleText(email) });
