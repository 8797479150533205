import { Group, Paper, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

interface SectionProps {
  readonly title: string;
  /** For screen readers, where it is not the title. */
  readonly label?: string;
  readonly description?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A titled part of a page. */
export function Section({ title, label = title, description, actions, children }: SectionProps) {
  return (
    <Paper component="section" aria-label={label}>
      <Group justify="space-between" align="flex-start" gap="xs" mb="xs">
        <div style={{ flex: '1 1 14rem', minWidth: 0 }}>
          <Title order={2}>{title}</Title>
          {description && (
            <Text size="sm" c="dimmed" maw="48rem">
              {description}
            </Text>
          )}
        </div>
        {actions && (
          <Group gap="xs" data-actions>
            {actions}
          </Group>
        )}
      </Group>
      {children}
    </Paper>
  );
}
