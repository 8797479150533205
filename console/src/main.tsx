import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './app/fonts/fonts.css';
import './app/global.css';
import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { pauseWhenInactive } from './api/activity.ts';
import { createQueryClient } from './api/queries.ts';
import { ConsolePages } from './app/ConsolePages.tsx';
import { ErrorBoundary } from './app/ErrorBoundary.tsx';
import { applyNonce, readNonce } from './app/nonce.ts';
import { cssVariables, theme } from './app/theme.ts';

applyNonce();
pauseWhenInactive();

const container = document.getElementById('root');
if (!container) throw new Error('index.html has no #root');
const queryClient = createQueryClient();

createRoot(container).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      getStyleNonce={readNonce}
    >
      <Notifications position="top-center" limit={1} className="notices" />
      <QueryClientProvider client={queryClient}>
        <ErrorBoundary>
          <ConsolePages />
        </ErrorBoundary>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
