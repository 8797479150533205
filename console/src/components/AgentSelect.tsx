import { Select, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { type ReactNode, useState } from 'react';
import { isAgentId, useAgentById } from '../api/agent-names.ts';
import type { Agent } from '../api/generated.ts';
import { useApi } from '../api/queries.ts';
import { useCan } from '../app/session-context.tsx';
import { visibleText } from './TenantText.tsx';

interface AgentSelectProps {
  readonly label?: ReactNode;
  readonly 'aria-label'?: string;
  readonly placeholder?: string;
  readonly description?: ReactNode;
  /** The id of the agent; empty for none. With `onChange` and `error` also from `form.getInputProps`. */
  readonly value?: string | undefined;
  readonly onChange: (agentId: string) => void;
  readonly error?: ReactNode;
  readonly required?: boolean;
  readonly clearable?: boolean;
  readonly size?: string;
  readonly 'data-autofocus'?: boolean;
  /** Only agents of this organization. */
  readonly organizationId?: string | undefined;
  /** Of the agents that are offered: active ones, if not given. */
  readonly statuses?: readonly AgentStatus[] | undefined;
  /** Agents that are not offered. */
  readonly except?: readonly string[];
}

type AgentStatus = Agent['status'];

const activeOnly: readonly AgentStatus[] = ['active'];
const typingMilliseconds = 300;
const maxOptions = 20;

/** Chooses an agent. Without agents:read its id has to be typed. */
export function AgentSelect(props: AgentSelectProps) {
  return useCan()('agents:read') ? <AgentSearch {...props} /> : <AgentIdInput {...props} />;
}

/** The server searches by the beginning of the e-mail address, the display name or the owner; an id works too. */
function AgentSearch(props: AgentSelectProps) {
  const {
    value = '',
    onChange,
    organizationId,
    statuses = activeOnly,
    except = [],
    placeholder = 'Name, e-mail address, owner or id',
    ...field
  } = props;
  const [typed, setTyped] = useState('');
  const [settled] = useDebouncedValue(typed.trim(), typingMilliseconds);
  const chosen = useAgentById(value);
  const chosenOption = chosen ? optionOf(chosen) : { value, label: visibleText(value) };
  // The name of the chosen agent is no search.
  const wanted = settled === chosenOption.label ? '' : settled;
  const isId = isAgentId(wanted);
  const byId = useAgentById(isId ? wanted.toLowerCase() : undefined);
  const list = useApi(
    'listAgents',
    {
      query: {
        organizationId,
        q: isId ? undefined : wanted,
        status: statuses.length === 1 ? statuses[0] : undefined,
        limit: maxOptions,
      },
    },
    { keepPrevious: true },
  );
  const isOffered = ({ agentId, status, organizationId: home }: Agent) =>
    agentId !== value &&
    !except.includes(agentId) &&
    statuses.includes(status) &&
    (organizationId === undefined || home === organizationId);
  const found = isId ? (byId ? [byId] : []) : (list.data?.data ?? []);
  return (
    <Select
      {...field}
      placeholder={placeholder}
      data={[...(value === '' ? [] : [chosenOption]), ...found.filter(isOffered).map(optionOf)]}
      value={value || null}
      onChange={(next) => onChange(next ?? '')}
      searchable
      searchValue={typed}
      onSearchChange={setTyped}
      // The server has searched.
      filter={({ options }) => options}
      nothingFoundMessage={
        list.error
          ? list.error.message
          : list.isFetching || settled !== typed.trim()
            ? 'Searching…'
            : statuses === activeOnly
              ? 'No active agent begins with this'
              : 'No agent begins with this'
      }
      clearButtonProps={{ 'aria-label': 'Clear the agent' }}
      maxDropdownHeight={280}
    />
  );
}

function AgentIdInput(props: AgentSelectProps) {
  const { value = '', onChange, organizationId, statuses, except, clearable, ...field } = props;
  const [typed, setTyped] = useState(value);
  return (
    <TextInput
      {...field}
      placeholder={props['aria-label'] === undefined ? 'Id of the agent' : `${props['aria-label']}: id`}
      maxLength={36}
      value={isAgentId(value) ? value : typed}
      onChange={(event) => {
        const next = event.currentTarget.value.trim();
        setTyped(next);
        // A part of an id is none.
        onChange(isAgentId(next) ? next.toLowerCase() : '');
      }}
    />
  );
}

const optionOf = ({ agentId, displayName, email, status }: Agent) => {
  const name = displayName === null ? email : `${displayName} · ${email}`;
  return { value: agentId, label: visibleText(status === 'active' ? name : `${name} (${status})`) };
};
