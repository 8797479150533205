/** The first page without a session. It stays at the address that was asked for, which opens after the sign-in. */
import { Center, Paper, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { useState } from 'react';
import { ConnectionNotice } from '../../app/ConnectionNotice.tsx';
import { providerReturn } from '../../app/sign-in-address.ts';
import { ThemeSwitch } from '../../app/ThemeSwitch.tsx';
import { Logo } from '../../components/Logo.tsx';
import { OrganizationChoice } from './OrganizationChoice.tsx';
import { ProviderAnswer } from './ProviderAnswer.tsx';
import { SignInForm } from './SignInForm.tsx';
import classes from './SignInPage.module.css';

export function SignInPage() {
  useDocumentTitle('Sign in · Countersign');
  const [returned] = useState(providerReturn);
  return (
    <main className={classes.page}>
      <div className={classes.theme}>
        <ThemeSwitch />
      </div>
      <Center className={classes.center ?? ''}>
        <Paper className={classes.card ?? ''} p="xl">
          <Stack gap="lg">
            <Stack align="center" gap="xs">
              <Logo size={44} />
              <Title order={1}>Sign in to Countersign</Title>
              <Text size="sm" c="dimmed" ta="center">
                The identity provider for AI agents
              </Text>
            </Stack>
            <ConnectionNotice />
            <ProviderAnswer {...returned} />
            {returned.choose ? (
              <OrganizationChoice />
            ) : (
              <>
                <SignInForm />
                <Text size="xs" c="dimmed">
                  No credential at hand? On the machine of the server, <code>countersign console</code> prints
                  a link that signs you in once.
                </Text>
              </>
            )}
          </Stack>
        </Paper>
      </Center>
    </main>
  );
}
