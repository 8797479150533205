import { Checkbox, Fieldset, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { eventGroups } from './event-groups.ts';

interface EventsInputProps {
  readonly value: readonly string[];
  readonly onChange: (events: string[]) => void;
  readonly error?: string | undefined;
}

/** The events of a subscription: all, or chosen ones in groups. `*` stands for all. */
export function EventsInput({ value, onChange, error }: EventsInputProps) {
  const all = value.includes('*');
  const toggle = (events: readonly string[], on: boolean) => {
    const others = value.filter((event) => !events.includes(event));
    onChange(on ? [...others, ...events] : others);
  };
  return (
    <Fieldset legend="Events" aria-describedby={error ? 'events-error' : undefined}>
      <Stack gap="sm">
        <Checkbox
          label="All events"
          description="Also types of events that later versions add."
          checked={all}
          onChange={(event) => onChange(event.currentTarget.checked ? ['*'] : [])}
        />
        {!all && (
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="md" verticalSpacing="sm">
            {eventGroups.map(({ title, events }) => {
              const chosen = events.filter((event) => value.includes(event)).length;
              return (
                <Stack key={title} gap={6} role="group" aria-label={title}>
                  <Checkbox
                    label={title}
                    fw={600}
                    checked={chosen === events.length}
                    indeterminate={chosen > 0 && chosen < events.length}
                    onChange={(event) => toggle(events, event.currentTarget.checked)}
                  />
                  {events.map((name) => (
                    <Group key={name} pl="lg">
                      <Checkbox
                        label={<code>{name}</code>}
                        checked={value.includes(name)}
                        onChange={(event) => toggle([name], event.currentTarget.checked)}
                      />
                    </Group>
                  ))}
                </Stack>
              );
            })}
          </SimpleGrid>
        )}
        {error && (
          <Text id="events-error" size="xs" c="var(--mantine-color-error)" role="alert">
            {error}
          </Text>
        )}
      </Stack>
    </Fieldset>
  );
}
