/** Around the component of each page: title of the tab, permission, loading, and failures in the page's own code. */
import { useDocumentTitle } from '@mantine/hooks';
import { type FunctionComponent, lazy, Suspense } from 'react';
import { LoadingState } from '../components/LoadingState.tsx';
import { NoPermission } from '../components/NoPermission.tsx';
import { ErrorBoundary } from './ErrorBoundary.tsx';
import type { Page } from './page.ts';
import { mayOpen } from './page-access.ts';
import { useSession } from './session-context.tsx';

export function createPageComponent(page: Page): FunctionComponent {
  const Content = lazy(async () => ({ default: await page.load() }));
  return function PageFrame() {
    const session = useSession();
    useDocumentTitle(`${page.title} · Countersign`);
    if (!mayOpen(page, session)) return <NoPermission title={page.title} scope={page.scope} />;
    return (
      <ErrorBoundary>
        <Suspense fallback={<LoadingState label={`Loading ${page.title}`} />}>
          <Content />
        </Suspense>
      </ErrorBoundary>
    );
  };
}
