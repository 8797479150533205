/** A page outside the navigation: one card in the middle of the screen. */
import { Center, Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { Logo } from '../components/Logo.tsx';
import classes from './CardPage.module.css';
import { ConnectionNotice } from './ConnectionNotice.tsx';
import { ThemeSwitch } from './ThemeSwitch.tsx';

interface CardPageProps {
  readonly title: string;
  readonly description?: string;
  /** For more than a few fields. */
  readonly wide?: boolean;
  readonly children: ReactNode;
}

export function CardPage({ title, description, wide = false, children }: CardPageProps) {
  return (
    <main className={classes.page}>
      <div className={classes.theme}>
        <ThemeSwitch />
      </div>
      <Center className={classes.center ?? ''}>
        <Paper className={classes.card ?? ''} p="xl" data-wide={wide || undefined}>
          <Stack gap="lg">
            <Stack align="center" gap="xs">
              <Logo size={44} />
              <Title order={1} ta="center">
                {title}
              </Title>
              {description && (
                <Text size="sm" c="dimmed" ta="center">
                  {description}
                </Text>
              )}
            </Stack>
            <ConnectionNotice />
            {children}
          </Stack>
        </Paper>
      </Center>
    </main>
  );
}
