import { Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { Icon, type IconName } from './Icon.tsx';
import classes from './States.module.css';

export interface EmptyStateProps {
  /** What is not there, such as "No agents yet". */
  readonly title: string;
  /** What it would be good for, or why nothing is found. */
  readonly text?: ReactNode;
  /** The button that creates the first one. */
  readonly action?: ReactNode;
  readonly icon?: IconName;
}

/** A page or list without content. */
export function EmptyState({ title, text, action, icon }: EmptyStateProps) {
  return (
    <div className={classes.state}>
      <Stack align="center" gap="xs">
        {icon && (
          <span className={classes.icon}>
            <Icon name={icon} size={28} />
          </span>
        )}
        <Title order={2}>{title}</Title>
        {text && (
          <Text size="sm" c="dimmed" ta="center" maw="32rem">
            {text}
          </Text>
        )}
        {action}
      </Stack>
    </div>
  );
}
