/** Shows pages with a session, the sign-in page without one, and a sign-in dialog over the page when a session has ended. */
import { Modal, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { ErrorState } from '../components/ErrorState.tsx';
import { LoadingState } from '../components/LoadingState.tsx';
import { LinkSignIn } from '../pages/sign-in/LinkSignIn.tsx';
import { SignInForm } from '../pages/sign-in/SignInForm.tsx';
import { SignInPage } from '../pages/sign-in/SignInPage.tsx';
import { ConnectionNotice } from './ConnectionNotice.tsx';
import classes from './SessionGate.module.css';
import { useSessionState } from './session-context.tsx';

export function SessionGate({ children }: { readonly children: ReactNode }) {
  const { session, ended, error, refresh, linkCode, dropLinkCode } = useSessionState();
  if (session === undefined)
    return error ? (
      <main className={classes.start}>
        <ConnectionNotice />
        <ErrorState
          error={error}
          title="The console cannot start"
          onRetry={() => void refresh().catch(() => undefined)}
        />
      </main>
    ) : (
      <main className={classes.start}>
        <ConnectionNotice />
        <LoadingState label="Loading the console" />
      </main>
    );
  if (session === null && !ended) return <SignInPage />;
  return (
    <>
      {children}
      <Modal
        opened={session === null}
        onClose={() => undefined}
        withCloseButton={false}
        closeOnEscape={false}
        closeOnClickOutside={false}
        title="Your session has ended"
        // Above the dialogs of pages.
        zIndex={500}
      >
        <Stack>
          <Text size="sm">
            Sign in again to go on. Everything on the page stays as it is; a secret that was shown is gone.
          </Text>
          <SignInForm />
        </Stack>
      </Modal>
      <Modal
        opened={session !== null && linkCode !== undefined}
        onClose={dropLinkCode}
        title="Sign in with this link?"
        closeButtonProps={{ 'aria-label': 'Close' }}
        zIndex={500}
      >
        {linkCode && <LinkSignIn code={linkCode} onClose={dropLinkCode} />}
      </Modal>
    </>
  );
}
