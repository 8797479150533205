/** The consent page at its own address; the pages of the console, for those who have signed in, at all others. */
import { RouterProvider } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { loadModule } from '../api/load-module.ts';
import { LoadingState } from '../components/LoadingState.tsx';
import { loadAuthorizePage } from '../pages/registry.ts';
import { ApprovalProvider } from './approval-context.tsx';
import { requestIdOf } from './authorize-address.ts';
import { ConnectionNotice } from './ConnectionNotice.tsx';
import { CommandProvider } from './commands.tsx';
import { EventProvider } from './event-context.tsx';
import { createConsoleRouter } from './router.tsx';
import classes from './SessionGate.module.css';
import { SessionGate } from './SessionGate.tsx';
import { SessionProvider } from './session-context.tsx';

const AuthorizePage = lazy(async () => ({ default: await loadModule(loadAuthorizePage) }));
const router = createConsoleRouter();
const requestId = requestIdOf(location.pathname);

export function ConsolePages() {
  if (requestId !== undefined)
    return (
      <Suspense
        fallback={
          <main className={classes.start}>
            <ConnectionNotice />
            <LoadingState label="Loading the request" />
          </main>
        }
      >
        <AuthorizePage requestId={requestId} />
      </Suspense>
    );
  return (
    <SessionProvider>
      <SessionGate>
        <EventProvider>
          <ApprovalProvider>
            <CommandProvider>
              <RouterProvider router={router} />
            </CommandProvider>
          </ApprovalProvider>
        </EventProvider>
      </SessionGate>
    </SessionProvider>
  );
}
