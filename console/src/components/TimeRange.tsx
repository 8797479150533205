import { Button, Group, Popover, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { Icon } from './Icon.tsx';

interface TimeRangeProps {
  /** ISO 8601. */
  readonly from: string | undefined;
  readonly to: string | undefined;
  readonly onChange: (changes: { from: string | undefined; to: string | undefined }) => void;
}

const presets = [
  { label: 'Last hour', hours: 1 },
  { label: 'Last 24 hours', hours: 24 },
  { label: 'Last 7 days', hours: 168 },
  { label: 'Last 30 days', hours: 720 },
];

/** A time range: presets, or two times in UTC. */
export function TimeRange({ from, to, onChange }: TimeRangeProps) {
  const [opened, setOpened] = useState(false);
  const choose = (changes: { from: string | undefined; to: string | undefined }) => {
    onChange(changes);
    setOpened(false);
  };
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-start" trapFocus returnFocus>
      <Popover.Target>
        <Button
          variant="default"
          leftSection={<Icon name="clock" size={14} />}
          onClick={() => setOpened(!opened)}
          fw={400}
        >
          {from || to ? 'Time range set' : 'Any time'}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <RangeForm key={`${from} ${to}`} from={from} to={to} onChange={choose} />
      </Popover.Dropdown>
    </Popover>
  );
}

function RangeForm({ from, to, onChange }: TimeRangeProps) {
  const [start, setStart] = useState(toField(from));
  const [end, setEnd] = useState(toField(to));
  return (
    <Stack gap="xs">
      <Group gap="xs">
        {presets.map(({ label, hours }) => (
          <Button
            key={label}
            variant="default"
            size="compact-xs"
            onClick={() =>
              onChange({ from: new Date(Date.now() - hours * 3_600_000).toISOString(), to: undefined })
            }
          >
            {label}
          </Button>
        ))}
      </Group>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onChange({ from: fromField(start), to: fromField(end) });
        }}
      >
        <Stack gap="xs">
          <TextInput
            type="datetime-local"
            label="From (UTC)"
            value={start}
            onChange={(event) => setStart(event.currentTarget.value)}
            size="xs"
          />
          <TextInput
            type="datetime-local"
            label="To (UTC)"
            value={end}
            onChange={(event) => setEnd(event.currentTarget.value)}
            size="xs"
          />
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={() => onChange({ from: undefined, to: undefined })}>
              Any time
            </Button>
            <Button type="submit">Apply</Button>
          </Group>
        </Stack>
      </form>
    </Stack>
  );
}

/** `2026-11-17T03:12` of an ISO time, and back. */
const toField = (time: string | undefined): string =>
  time && !Number.isNaN(Date.parse(time)) ? new Date(time).toISOString().slice(0, 16) : '';
const fromField = (field: string): string | undefined => {
  // Browsers accept years of six digits here, which are no ISO 8601.
  const time = Date.parse(`${field}:00Z`);
  return Number.isNaN(time) ? undefined : new Date(time).toISOString();
};
