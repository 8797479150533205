import { Button, Group } from '@mantine/core';

interface RowActionsProps {
  /** By the label of the button. False: no button. */
  readonly actions: Readonly<Record<string, (() => void) | false>>;
  /** Names the row for screen readers, after the label: "Remove: Ada". */
  readonly of?: string;
  /** Another name for screen readers. */
  readonly nameOf?: (label: string) => string;
}

/** The buttons of a row of a table. */
export function RowActions({ actions, of, nameOf }: RowActionsProps) {
  return (
    <Group gap="xs" wrap="nowrap">
      {Object.entries(actions).map(
        ([label, run]) =>
          run && (
            <Button
              key={label}
              variant="default"
              size="compact-xs"
              onClick={run}
              aria-label={nameOf?.(label) ?? (of && `${label}: ${of}`)}
            >
              {label}
            </Button>
          ),
      )}
    </Group>
  );
}
