/** Chooses an agent of the organization by its name. Without agents:read the id has to be typed. */
import { Select, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import { useAgentById } from '../../api/agent-names.ts';
import { useApi } from '../../api/queries.ts';
import { useCan } from '../../app/session-context.tsx';
import { visibleText } from '../../components/TenantText.tsx';

export interface AgentFieldProps {
  readonly organizationId: string;
  readonly label: string;
  readonly description: string;
  /** From `form.getInputProps`. */
  readonly value?: string;
  readonly onChange: (agentId: string) => void;
  readonly error?: unknown;
  readonly autoFocus?: boolean;
}

const limit = 50;

export function AgentField(props: AgentFieldProps) {
  const mayRead = useCan()('agents:read');
  const { label, description, value = '', onChange, error, autoFocus = false } = props;
  if (mayRead) return <AgentSelect {...props} />;
  return (
    <TextInput
      label={label}
      description={`${description} Enter the id of an agent.`}
      required
      maxLength={36}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value.trim())}
      error={error as string | undefined}
      {...(autoFocus && { 'data-autofocus': true })}
    />
  );
}

function AgentSelect(props: AgentFieldProps) {
  const { organizationId, label, description, value = '', onChange, error, autoFocus = false } = props;
  const [typed, setTyped] = useState('');
  const chosen = useAgentById(value || undefined);
  const chosenName = chosen ? visibleText(chosen.email) : value;
  const [settled] = useDebouncedValue(typed, 300);
  const q = settled === chosenName ? undefined : settled || undefined;
  const agents = useApi(
    'listAgents',
    { query: { organizationId, q, status: 'active', limit } },
    { keepPrevious: true },
  );
  const options = (agents.data?.data ?? []).map(({ agentId, email }) => ({
    value: agentId,
    label: visibleText(email),
  }));
  const isListed = value === '' || options.some((option) => option.value === value);
  return (
    <Select
      label={label}
      description={description}
      placeholder="Type the beginning of its name"
      required
      searchable
      data={isListed ? options : [{ value, label: chosenName }, ...options]}
      // The server has searched already, by name and owner.
      filter={({ options: all }) => all}
      value={value || null}
      onChange={(agentId) => onChange(agentId ?? '')}
      onSearchChange={setTyped}
      nothingFoundMessage={
        agents.error ? 'The agents could not be loaded' : 'No active agent of the organization has this name'
      }
      error={error as string | undefined}
      {...(autoFocus && { 'data-autofocus': true })}
    />
  );
}
