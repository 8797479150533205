/** The routes: one for each page of the registry, below /console. */
import { createRootRoute, createRoute, createRouter, redirect } from '@tanstack/react-router';
import { pages } from '../pages/registry.ts';
import { NotFound } from './NotFound.tsx';
import { createPageComponent } from './PageFrame.tsx';
import { Shell } from './Shell.tsx';
import { parseSearch, stringifySearch } from './search-params.ts';
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
