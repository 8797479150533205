import { Button, Group, Pill, Select, TextInput } from '@mantine/core';
import { type FormEvent, useCallback, useEffect, useRef, useState } from 'react';
import { AgentName } from './AgentName.tsx';
import { AgentSelect } from './AgentSelect.tsx';
import classes from './FilterBar.module.css';
import { Icon } from './Icon.tsx';
import { visibleText } from './TenantText.tsx';
import { TimeRange } from './TimeRange.tsx';

/** A filter of a list. `name` is the search parameter that holds it. */
export type Filter =
  | {
      readonly kind: 'text';
      readonly name: string;
      readonly label: string;
      readonly placeholder?: string;
      readonly maxLength?: number;
    }
  | {
      readonly kind: 'choice';
      readonly name: string;
      readonly label: string;
      readonly options: readonly (string | { readonly value: string; readonly label: string })[];
    }
  /** An agent by name, of any status. */
  | { readonly kind: 'agent'; readonly name: string; readonly label: string }
  /** `from` and `to`. */
  | { readonly kind: 'time' };

export type FilterValues = Readonly<Record<string, string | undefined>>;

interface FilterBarProps {
  readonly filters: readonly Filter[];
  readonly values: FilterValues;
  readonly onChange: (changes: FilterValues) => void;
}

const allStatuses = ['active', 'suspended', 'decommissioned'] as const;

/** The filters of a list, and a chip for each that is set. */
export function FilterBar({ filters, values, onChange }: FilterBarProps) {
  return (
    <search className={classes.bar} aria-label="Filters">
      <div className={classes.inputs}>
        {filters.map((filter) =>
          filter.kind === 'time' ? (
            <TimeRange key="time" from={values.from} to={values.to} onChange={onChange} />
          ) : filter.kind === 'agent' ? (
            <div key={filter.name} className={classes.text}>
              <AgentSelect
                aria-label={filter.label}
                placeholder={filter.label}
                value={values[filter.name]}
                onChange={(agentId) => onChange({ [filter.name]: agentId || undefined })}
                statuses={allStatuses}
                clearable
                size="xs"
              />
            </div>
          ) : filter.kind === 'choice' ? (
            <Select
              key={filter.name}
              aria-label={filter.label}
              placeholder={filter.label}
              data={filter.options as string[]}
              value={values[filter.name] ?? null}
              onChange={(value) => onChange({ [filter.name]: value ?? undefined })}
              clearable
              clearButtonProps={{ 'aria-label': `Clear ${filter.label}` }}
              searchable={filter.options.length > 10}
              size="xs"
              className={classes.choice ?? ''}
            />
          ) : (
            <TextFilter key={filter.name} filter={filter} value={values[filter.name]} onChange={onChange} />
          ),
        )}
      </div>
      <Chips filters={filters} values={values} onChange={onChange} />
    </search>
  );
}

interface TextFilterProps {
  readonly filter: Extract<Filter, { kind: 'text' }>;
  readonly value: string | undefined;
  readonly onChange: (changes: FilterValues) => void;
}

const typingMilliseconds = 400;

/** Applies after a pause in typing, or with Enter. */
function TextFilter({
  filter: { name, label, placeholder, maxLength = 200 },
  value = '',
  onChange,
}: TextFilterProps) {
  const [typed, setTyped] = useState(value);
  const sent = useRef(value);
  useEffect(() => {
    // The own value comes back through the URL. More may have been typed since.
    if (value === sent.current) return;
    sent.current = value;
    setTyped(value);
  }, [value]);
  const send = useCallback(() => {
    sent.current = typed;
    onChange({ [name]: typed || undefined });
  }, [typed, name, onChange]);
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(send, typingMilliseconds);
    return () => clearTimeout(timer);
  }, [typed, value, send]);
  const apply = (event: FormEvent) => {
    event.preventDefault();
    if (typed !== value) send();
  };
  return (
    <form onSubmit={apply}>
      <TextInput
        aria-label={label}
        placeholder={placeholder ?? label}
        leftSection={<Icon name="search" size={14} />}
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
        maxLength={maxLength}
        size="xs"
        className={classes.text ?? ''}
      />
    </form>
  );
}

function Chips({ filters, values, onChange }: FilterBarProps) {
  const names = filters.flatMap((filter): { name: string; label: string; kind: Filter['kind'] }[] =>
    filter.kind === 'time'
      ? [
          { name: 'from', label: 'From', kind: 'time' },
          { name: 'to', label: 'To', kind: 'time' },
        ]
      : [filter],
  );
  const set = names.filter(({ name }) => values[name] !== undefined);
  if (set.length === 0) return null;
  return (
    <Group gap="xs" role="group" aria-label="Active filters">
      {set.map(({ name, label, kind }) => (
        <Pill
          key={name}
          withRemoveButton
          onRemove={() => onChange({ [name]: undefined })}
          removeButtonProps={{ 'aria-label': `Remove filter ${label}`, 'aria-hidden': false, tabIndex: 0 }}
          maw="100%"
        >
          {label}:{' '}
          {kind === 'agent' ? (
            <AgentName agentId={values[name]} link={false} />
          ) : (
            <bdi>{visibleText(values[name] ?? '')}</bdi>
          )}
        </Pill>
      ))}
      <Button
        variant="subtle"
        size="compact-xs"
        onClick={() => onChange(Object.fromEntries(set.map(({ name }) => [name, undefined])))}
      >
        Clear all
      </Button>
    </Group>
  );
}
