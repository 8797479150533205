import Type from '../../../contract/json-schema.ts';
import { open, type RouteEntry, rootRoute } from '../../../kernel/http/route.ts';
import { FileParams } from '../schema.ts';
import type { Pages } from './pages.ts';

const html = 'text/html; charset=utf-8';

export const pageRoutes = (pages: Pages): RouteEntry[] => [
  rootRoute({
    id: 'consolePage',
    summary: 'The web console',
    tag: 'Console',
    method: 'GET',
    url: '/console',
    access: open(),
    limit: 'pageFiles',
    hidden: true,
    produces: html,
    schema: { response: { 200: Type.String() } },
    handler: ({ header }) => pages.at('', { header }),
  }),
  rootRoute({
    id: 'consoleFile',
    summary: 'A file of the web console, or its page',
    tag: 'Console',
    method: 'GET',
    url: '/console/*',
    access: open(),
    limit: 'pageFiles',
    hidden: true,
    produces: html,
    schema: { params: FileParams, response: { 200: Type.String() } },
    handler: ({ params, header }) => pages.at(params['*'], { header }),
  }),
  rootRoute({
    id: 'favicon',
    summary: 'The icon of the pages',
    tag: 'Operational',
    method: 'GET',
    url: '/favicon.ico',
    access: open(),
    limit: 'static',
    hidden: true,
    produces: 'image/svg+xml',
    schema: { response: { 200: Type.String() } },
    handler: ({ header }) => pages.icon({ header }),
  }),
];
