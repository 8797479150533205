import { Button, Group } from '@mantine/core';

export interface RowActionsProps {
  /** Names the row for screen readers: "person Ada". */
  readonly of: string;
  readonly changeLabel: string;
  readonly onChange: () => void;
  readonly onRemove: () => void;
}

/** The buttons of a row. */
export function RowActions({ of, changeLabel, onChange, onRemove }: RowActionsProps) {
  return (
    <Group gap="xs" wrap="nowrap">
      <Button variant="default" size="compact-xs" onClick={onChange} aria-label={`${changeLabel}: ${of}`}>
        {changeLabel}
      </Button>
      <Button variant="default" size="compact-xs" onClick={onRemove} aria-label={`Remove: ${of}`}>
        Remove
      </Button>
    </Group>
  );
}
