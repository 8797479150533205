import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './app/global.css';
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { lazy, StrictMode, Suspense } from 'react';
import { createRoot } from 'react-dom/client';
import { pauseWhenInactive } from './api/activity.ts';
import { createQueryClient } from './api/queries.ts';
import { CommandProvider } from './app/commands.tsx';
import { ErrorBoundary } from './app/ErrorBoundary.tsx';
import { EventProvider } from './app/event-context.tsx';
import { applyNonce, readNonce } from './app/nonce.ts';
import { createConsoleRouter } from './app/router.tsx';
import { SessionGate } from './app/SessionGate.tsx';
import { SessionProvider } from './app/session-context.tsx';
import { cssVariables, theme } from './app/theme.ts';
import { requestIdOf } from './pages/authorize/addresses.ts';

applyNonce();
pauseWhenInactive();

const container = document.getElementById('root');
if (!container) throw new Error('index.html has no #root');
const queryClient = createQueryClient();
const router = createConsoleRouter();
/** The consent page has no frame and no session of the console around it. */
const requestId = requestIdOf(location.pathname);
const AuthorizePage = lazy(async () => ({
  default: (await import('./pages/authorize/AuthorizePage.tsx')).AuthorizePage,
}));

createRoot(container).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      getStyleNonce={readNonce}
    >
      <Notifications position="bottom-right" />
      <QueryClientProvider client={queryClient}>
        <ErrorBoundary>
          {requestId !== undefined ? (
            <Suspense>
              <AuthorizePage requestId={requestId} />
            </Suspense>
          ) : (
            <SessionProvider>
              <SessionGate>
                <EventProvider>
                  <CommandProvider>
                    <RouterProvider router={router} />
                  </CommandProvider>
                </EventProvider>
              </SessionGate>
            </SessionProvider>
          )}
        </ErrorBoundary>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
