import { Button, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './SelectionBar.module.css';

interface SelectionBarProps {
  /** "3 agents selected". */
  readonly label: string;
  /** Buttons for the selected rows. */
  readonly children: ReactNode;
  readonly onClear: () => void;
}

/** The count and the actions of the selected rows, below the table and always in view. */
export function SelectionBar({ label, children, onClear }: SelectionBarProps) {
  return (
    <section className={classes.bar} aria-label={label}>
      <Text size="sm" fw={600} className={classes.count ?? ''}>
        {label}
      </Text>
      <Group gap="xs" className={classes.actions ?? ''}>
        {children}
      </Group>
      <Button variant="subtle" size="xs" onClick={onClear} title="Escape">
        Clear selection
      </Button>
    </section>
  );
}
