import { Checkbox, Fieldset, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { FormSection } from '../../components/FormSection.tsx';
import { RequiredMark } from '../../components/RequiredMark.tsx';
import { eventGroups } from './event-groups.ts';

interface EventsInputProps {
  /** From `form.getInputProps`. */
  readonly value?: readonly string[];
  readonly onChange?: (events: string[]) => void;
  readonly error?: ReactNode;
  readonly required?: boolean;
}

/** The events of a subscription: all, or chosen ones in groups. `*` stands for all. */
export function EventsInput({ value = [], onChange, error, required = false }: EventsInputProps) {
  const all = value.includes('*');
  const toggle = (events: readonly string[], on: boolean) => {
    const others = value.filter((event) => !events.includes(event));
    onChange?.(on ? [...others, ...events] : others);
  };
  return (
    <Fieldset
      legend={
        <>
          Events
          {required && <RequiredMark />}
        </>
      }
      aria-describedby={error ? 'events-error' : undefined}
    >
      <Stack gap="xs">
        <Checkbox
          label="All events"
          description="Also types of events that later versions add."
          checked={all}
          onChange={(event) => onChange?.(event.currentTarget.checked ? ['*'] : [])}
        />
        {!all &&
          eventGroups.map(({ title, events }) => {
            const chosen = events.filter((event) => value.includes(event)).length;
            return (
              <FormSection key={title} title={title} summary={`${chosen} of ${events.length}`}>
                <Stack gap="xs" role="group" aria-label={title}>
                  <Checkbox
                    label={`All of ${title}`}
                    fw={600}
                    checked={chosen === events.length}
                    indeterminate={chosen > 0 && chosen < events.length}
                    onChange={(event) => toggle(events, event.currentTarget.checked)}
                  />
                  {events.map((name) => (
                    <Checkbox
                      key={name}
                      pl="lg"
                      label={<code>{name}</code>}
                      checked={value.includes(name)}
                      onChange={(event) => toggle([name], event.currentTarget.checked)}
                    />
                  ))}
                </Stack>
              </FormSection>
            );
          })}
        {error && (
          <Text id="events-error" size="xs" c="var(--mantine-color-error)" role="alert" data-problem>
            {error}
          </Text>
        )}
      </Stack>
    </Fieldset>
  );
}
