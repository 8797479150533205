import { Button, Group, Pill, Select, TextInput } from '@mantine/core';
import { type FormEvent, useCallback, useId, useState } from 'react';
import { AgentName } from './AgentName.tsx';
import { AgentSelect } from './AgentSelect.tsx';
import classes from './FilterBar.module.css';
import { Icon } from './Icon.tsx';
import { visibleText } from './TenantText.tsx';
import { TimeRange } from './TimeRange.tsx';
import { useTyped } from './use-typed.ts';

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

/** The filters of a list in one row, and a chip for each that is set. What the row has no room for is under "More". */
export function FilterBar({ filters, values, onChange }: FilterBarProps) {
  const [width, setWidth] = useState(0);
  const [opened, setOpened] = useState(false);
  const moreId = useId();
  // Measured before the first picture, so that no filter is seen that then goes.
  const measured = useCallback((row: HTMLDivElement | null) => {
    if (!row) return;
    const measure = () => setWidth(row.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(row);
    return () => observer.disconnect();
  }, []);
  const inRow = filters.slice(0, fitting(filters, width));
  const more = filters.slice(inRow.length);
  const inputOf = (filter: Filter) => (
    <FilterInput key={keyOf(filter)} filter={filter} values={values} onChange={onChange} />
  );
  return (
    <search className={classes.bar} aria-label="Filters">
      <div className={classes.row} ref={measured}>
        {inRow.map(inputOf)}
        {more.length > 0 && (
          <Button
            variant="default"
            fw={400}
            rightSection={<Icon name="filter" size={14} />}
            aria-expanded={opened}
            aria-controls={moreId}
            onClick={() => setOpened(!opened)}
          >
            {opened ? 'Less' : 'More'}
            <span className="visually-hidden"> filters</span>
          </Button>
        )}
      </div>
      {opened && more.length > 0 && (
        <div className={classes.more} id={moreId}>
          {more.map(inputOf)}
        </div>
      )}
      <Chips filters={filters} values={values} onChange={onChange} />
    </search>
  );
}

const keyOf = (filter: Filter): string => (filter.kind === 'time' ? 'time' : filter.name);

/** The least width of each with the gap after it; FilterBar.module.css has the same. */
const pixels: Readonly<Record<Filter['kind'], number>> = { text: 176, agent: 176, choice: 144, time: 140 };
const morePixels = 100;

/** How many filters have room in a row of this width. Not measured yet: all. */
function fitting(filters: readonly Filter[], width: number): number {
  const needed = (count: number) => filters.slice(0, count).reduce((sum, { kind }) => sum + pixels[kind], 0);
  if (width === 0 || needed(filters.length) <= width) return filters.length;
  let count = filters.length - 1;
  while (count > 1 && needed(count) + morePixels > width) count -= 1;
  return count;
}

interface FilterInputProps extends Omit<FilterBarProps, 'filters'> {
  readonly filter: Filter;
}

function FilterInput({ filter, values, onChange }: FilterInputProps) {
  switch (filter.kind) {
    case 'time':
      return <TimeRange from={values.from} to={values.to} onChange={onChange} />;
    case 'agent':
      return (
        <div className={classes.text}>
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
      );
    case 'choice':
      return (
        <Select
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
      );
    case 'text':
      return <TextFilter filter={filter} value={values[filter.name]} onChange={onChange} />;
  }
}

interface TextFilterProps {
  readonly filter: Extract<Filter, { kind: 'text' }>;
  readonly value: string | undefined;
  readonly onChange: (changes: FilterValues) => void;
}

/** Applies after a pause in typing, or with Enter. */
function TextFilter({
  filter: { name, label, placeholder, maxLength = 200 },
  value = '',
  onChange,
}: TextFilterProps) {
  const { typed, setTyped, send } = useTyped(value, (text) => onChange({ [name]: text || undefined }));
  const apply = (event: FormEvent) => {
    event.preventDefault();
    if (typed !== value) send();
  };
  return (
    <form onSubmit={apply} className={classes.text}>
      <TextInput
        aria-label={label}
        placeholder={placeholder ?? label}
        leftSection={<Icon name="search" size={14} />}
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
        maxLength={maxLength}
        size="xs"
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
