import { Group, SegmentedControl, TextInput, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import type { PageSearch } from '../../app/page.ts';
import { groupings, ranges, type usagePage } from './page.ts';
import type { Period } from './period.ts';
import classes from './UsagePage.module.css';

type Search = PageSearch<typeof usagePage>;

interface PeriodBarProps {
  readonly search: Search;
  readonly period: Period;
  readonly onSearch: (changes: Partial<Search>) => void;
  /** Buttons on the right. */
  readonly children: ReactNode;
}

const groupLabels = { day: 'By day', agent: 'By agent' } as const;
const custom = 'custom';

/** The period and the grouping; both are in the URL. */
export function PeriodBar({ search, period, onSearch, children }: PeriodBarProps) {
  const isCustom = search.from !== undefined || search.to !== undefined;
  return (
    <div className={classes.bar}>
      <Title order={2}>Usage</Title>
      <Group gap="xs" className={classes.controls ?? ''}>
        <SegmentedControl
          size="xs"
          aria-label="Period"
          data={[
            ...ranges.map((days) => ({ value: days as string, label: `${days} days` })),
            ...(isCustom ? [{ value: custom, label: 'Own' }] : []),
          ]}
          value={isCustom ? custom : search.days}
          onChange={(value) =>
            value !== custom &&
            onSearch({ days: value as Search['days'], from: undefined, to: undefined, page: 1 })
          }
        />
        <TextInput
          type="date"
          size="xs"
          aria-label="First day (UTC)"
          value={period.from}
          max={period.to}
          onChange={(event) => onSearch({ from: event.currentTarget.value || undefined, page: 1 })}
        />
        <TextInput
          type="date"
          size="xs"
          aria-label="Last day (UTC)"
          value={period.to}
          min={period.from}
          onChange={(event) => onSearch({ to: event.currentTarget.value || undefined, page: 1 })}
        />
        <SegmentedControl
          size="xs"
          aria-label="Grouping"
          data={groupings.map((value) => ({ value: value as string, label: groupLabels[value] }))}
          value={search.group}
          onChange={(value) => onSearch({ group: value as Search['group'], page: 1 })}
        />
        {children}
      </Group>
    </div>
  );
}
