import { ActionIcon, Drawer, Group, Title } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { type ReactNode, useEffect } from 'react';
import classes from './DetailPane.module.css';
import { Icon } from './Icon.tsx';
import { closesSomething } from './row-selection.ts';

interface DetailPaneProps {
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly title: ReactNode;
  readonly children: ReactNode;
}

/** Details beside a list or over its right part; on narrow screens a drawer. Escape closes it. */
export function DetailPane({ opened, onClose, title, children }: DetailPaneProps) {
  const isWide = useMediaQuery('(min-width: 75em)', true, { getInitialValueInEffect: false });
  useEffect(() => {
    if (!opened || !isWide) return;
    const closeByKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && !closesSomething(event)) onClose();
    };
    addEventListener('keydown', closeByKey);
    return () => removeEventListener('keydown', closeByKey);
  }, [opened, isWide, onClose]);
  if (!isWide)
    return (
      <Drawer
        opened={opened}
        onClose={onClose}
        position="right"
        title={title}
        closeButtonProps={{ 'aria-label': 'Close details' }}
        size="min(34rem, 100%)"
      >
        {children}
      </Drawer>
    );
  if (!opened) return null;
  return (
    <aside className={classes.pane} aria-label="Details">
      <Group justify="space-between" wrap="nowrap" align="flex-start" mb="sm">
        <Title order={2} className={classes.title ?? ''}>
          {title}
        </Title>
        <ActionIcon aria-label="Close details" onClick={onClose}>
          <Icon name="close" />
        </ActionIcon>
      </Group>
      {children}
    </aside>
  );
}
