/** The routes: one for each page of the registry, below /console. */
import { Button } from '@mantine/core';
import { createRootRoute, createRoute, createRouter, Navigate, redirect } from '@tanstack/react-router';
import { type FunctionComponent, lazy, Suspense } from 'react';
import { loadModule } from '../api/load-module.ts';
import { EmptyState } from '../components/EmptyState.tsx';
import { LoadingState } from '../components/LoadingState.tsx';
import { NoPermission } from '../components/NoPermission.tsx';
import { PageTitle } from '../components/PageTitle.tsx';
import { type LoadablePage, pages } from '../pages/registry.ts';
import { usePageTitle } from './document-title.ts';
import { ErrorBoundary } from './ErrorBoundary.tsx';
import { GuideProvider } from './guide-context.tsx';
import { PageLink } from './navigation.tsx';
import { firstPageOf, isMember, mayOpen } from './page-access.ts';
import { Shell } from './Shell.tsx';
import { parseSearch, stringifySearch } from './search-params.ts';
import { useSession } from './session-context.tsx';
import { placeAfterSignIn } from './sign-in-address.ts';

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

const routes = pages.map((page) =>
  createRoute({
    getParentRoute: () => root,
    path: page.path,
    component: createPageComponent(page),
    // Only text; usePageSearch reads it by the page's fields.
    validateSearch: (search: Record<string, unknown>) => search,
  }),
);

/** The address of the sign-in page, when there is a session: on to the page that was asked for. */
const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: (search: Record<string, unknown>) => search,
  beforeLoad: () => {
    throw redirect({ href: placeAfterSignIn(), replace: true });
  },
});

export const createConsoleRouter = () =>
  createRouter({
    routeTree: root.addChildren([...routes, signIn]),
    basepath: '/console',
    parseSearch,
    stringifySearch,
    scrollRestoration: true,
    notFoundMode: 'root',
  });

/** The component of a page with its surroundings: title of the tab, permission, loading, and failures in the page's own code. */
function createPageComponent(page: LoadablePage): FunctionComponent {
  const Content = lazy(async () => ({ default: await loadModule(page.load) }));
  return function PageFrame() {
    const session = useSession();
    usePageTitle(page.title);
    if (isMember(session) && page.path === '/') return <Navigate to={firstPageOf(session)} replace />;
    if (isMember(session) && !mayOpen(page, session)) return <NotFound />;
    if (!mayOpen(page, session)) return <NoPermission title={page.title} scope={page.scope} />;
    return (
      <ErrorBoundary>
        <Suspense fallback={<LoadingState label={`Loading ${page.title}`} />}>
          <GuideProvider value={page.guide}>
            <Content />
          </GuideProvider>
        </Suspense>
      </ErrorBoundary>
    );
  };
}

/** For an address under /console that is no page. */
function NotFound() {
  const first = firstPageOf(useSession());
  usePageTitle('Page not found');
  return (
    <>
      <PageTitle title="Page not found" />
      <EmptyState
        title="There is no page at this address"
        text="The link may be old, or mistyped."
        action={
          <Button component={PageLink} to={first}>
            {first === '/' ? 'Go to the overview' : 'Go to my agents'}
          </Button>
        }
      />
    </>
  );
}
